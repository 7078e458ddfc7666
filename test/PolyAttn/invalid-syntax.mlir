// What the parser and the verifiers refuse before any meaning: broken types, the generic form with
// wrong operands, attributes and regions.
// RUN: polyattn-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{a vector's width must be between 1 and 2147483647}}
polyattn.feature_map @width_zero(%x: [0]) {}

// -----

// expected-error@+1 {{a vector's width must be between 1 and 2147483647}}
polyattn.feature_map @width_negative(%x: [-4]) {}

// -----

// expected-error@+1 {{a vector's width must be between 1 and 2147483647}}
polyattn.feature_map @width_large(%x: [4611686018427387904]) {}

// -----

// expected-error@+1 {{integer value too large}}
polyattn.feature_map @width_overflow(%x: [99999999999999999999]) {}

// -----

// expected-error@+1 {{a power's degree must be between 1 and 64}}
polyattn.feature_map @degree_zero(%x: sym 0 [4]) {}

// -----

// expected-error@+1 {{a power's degree must be between 1 and 64}}
polyattn.feature_map @degree_large(%x: pow 65 [4]) {}

// -----

// expected-error@+1 {{a power's block must divide the width of its base}}
polyattn.feature_map @block(%x: sym 2 block 3 [4]) {}

// -----

// expected-error@+1 {{expected a structure: `[width]`, `sym`, `pow`, `exp` or `(`}}
polyattn.feature_map @structure_end(%x: [4] +) {}

// -----

// expected-error@+1 {{a structure is nested too deeply}}
polyattn.feature_map @nested(%x: ((((((((((((((((((((((((((((((((((((((((([4]) {}

// -----

// expected-error@+1 {{a weight is a vector `n` or a matrix `mxn` of positive sizes}}
polyattn.feature_map @weight_zero(%w: 0x3) {}

// -----

// expected-error@+1 {{a weight is a vector `n` or a matrix `mxn` of positive sizes}}
polyattn.feature_map @weight_rank(%w: 2x3x4) {}

// -----

// expected-error@+1 {{a weight is a vector `n` or a matrix `mxn` of positive sizes}}
polyattn.feature_map @weight_large(%w: 4294967296x4294967296) {}

// -----

// expected-error@+1 {{unknown normalizer 'softmin'; did you mean 'softmax'?}}
#n = #polyattn.normalizer<softmin>

// -----

// expected-error@+1 {{a normalizer `softmax` has no fields}}
#n = #polyattn.normalizer<softmax, min_denom = 1.0>

// -----

// expected-error@+1 {{a normalizer `softmax` has no fields}}
#n = #polyattn.normalizer<softmax, reduce = mean>

// -----

// expected-error@+1 {{unknown field 'epsilon' of a normalizer}}
#n = #polyattn.normalizer<sum, epsilon = 1.0>

// -----

// expected-error@+1 {{eps must be finite and not negative}}
#n = #polyattn.normalizer<sum, eps = -1.0>

// -----

// expected-error@+1 {{a normalizer `none` has no eps, bias, guard or min_denom}}
#n = #polyattn.normalizer<none, eps = 1.0>

// -----

// expected-error@+1 {{only a normalizer `bias` has a bias}}
#n = #polyattn.normalizer<sum, eps = 0.0, bias = 1.0>

// -----

// expected-error@+1 {{unknown field 'esp' of a normalizer; did you mean 'eps'?}}
#n = #polyattn.normalizer<sum, esp = 1.0>

// -----

// expected-error@+1 {{a normalizer `sum` says its eps, which has no default: `<sum, eps = 0.0>` for none}}
#n = #polyattn.normalizer<sum>

// -----

// expected-error@+1 {{a normalizer `bias` says its bias, which has no default}}
#n = #polyattn.normalizer<bias, eps = 1.0>

// -----

// expected-error@+1 {{eps_mode says what eps is relative to, and there is no eps}}
#n = #polyattn.normalizer<bias, bias = 1.0, eps_mode = row_max>

// -----

// expected-error@+1 {{guard_below and guard_add are given together}}
#n = #polyattn.normalizer<sum, eps = 0.0, guard_below = 1.0>

// -----

// expected-error@+1 {{a normalizer's eps is given twice}}
#n = #polyattn.normalizer<sum, eps = 0.0, eps = 1.0>

// -----

// expected-error@+1 {{'polyattn.apply' op expects parent op 'polyattn.attention'}}
%y = "polyattn.apply"() {map = @nothing} : () -> !polyattn.feature<[4]>

// -----

// expected-error@+1 {{requires attribute 'arg_names'}}
"polyattn.feature_map"() ({
^bb0(%x: !polyattn.feature<[4]>):
  "polyattn.yield"(%x) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "no_names"} : () -> ()

// -----

// expected-error@+1 {{has 0 argument names for 1 arguments}}
"polyattn.feature_map"() ({
^bb0(%x: !polyattn.feature<[4]>):
  "polyattn.yield"(%x) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "names", arg_names = []} : () -> ()

// -----

// expected-error@+1 {{attribute 'arg_names' failed to satisfy constraint: string array attribute}}
"polyattn.feature_map"() ({
^bb0(%x: !polyattn.feature<[4]>):
  "polyattn.yield"(%x) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "names", arg_names = [1]} : () -> ()

// -----

// expected-error@+1 {{failed to verify constraint: region with 1 blocks}}
"polyattn.feature_map"() ({}) {sym_name = "empty", arg_names = []} : () -> ()

// -----

// expected-error@+1 {{expects a non-empty block}}
"polyattn.feature_map"() ({
^bb0:
}) {sym_name = "empty", arg_names = []} : () -> ()

// -----

"polyattn.feature_map"() ({
^bb0(%x: !polyattn.feature<[4]>):
  // expected-error@+1 {{requires attribute 'eps'}}
  %y = "polyattn.l2_norm"(%x) : (!polyattn.feature<[4]>) -> !polyattn.feature<[4]>
  "polyattn.yield"(%y) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "attribute", arg_names = ["x"]} : () -> ()

// -----

"polyattn.feature_map"() ({
^bb0(%x: !polyattn.feature<[4]>):
  // expected-error@+1 {{expected 2 or more operands, but found 1}}
  %y = "polyattn.project"(%x) : (!polyattn.feature<[4]>) -> !polyattn.feature<[4]>
  "polyattn.yield"(%y) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "operands", arg_names = ["x"]} : () -> ()

// -----

"polyattn.feature_map"() ({
^bb0(%x: !polyattn.feature<[4]>):
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{inferred type(s) '!polyattn.feature<[4]>' are incompatible with return type(s)}}
  %y = "polyattn.relu"(%x) : (!polyattn.feature<[4]>) -> !polyattn.feature<[5]>
  "polyattn.yield"(%y) : (!polyattn.feature<[5]>) -> ()
}) {sym_name = "result", arg_names = ["x"]} : () -> ()

// -----

"polyattn.attention"() ({
^bb0(%q: tensor<?x?x?x4xf32>):
  %a = "polyattn.read"(%q) : (tensor<?x?x?x4xf32>) -> !polyattn.feature<[4]>
  // expected-error@+1 {{expected one query, one key, one value and at most one of each other operand}}
  %o = "polyattn.attend"(%a, %a, %a) {mask = #polyattn.mask<causal>,
      normalizer = #polyattn.normalizer<none>,
      operandSegmentSizes = array<i32: 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (!polyattn.feature<[4]>, !polyattn.feature<[4]>, !polyattn.feature<[4]>)
    -> !polyattn.feature<[4]>
  "polyattn.return"(%o) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "segments", arg_names = ["q"], result_names = ["o"],
    result_types = [tensor<?x?x?x4xf32>]} : () -> ()

// -----

"polyattn.attention"() ({
^bb0(%q: tensor<?x?x?x4xf32>):
  %a = "polyattn.read"(%q) : (tensor<?x?x?x4xf32>) -> !polyattn.feature<[4]>
  // expected-error@+1 {{requires attribute 'normalizer'}}
  %o = "polyattn.attend"(%a, %a, %a) {mask = #polyattn.mask<causal>,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (!polyattn.feature<[4]>, !polyattn.feature<[4]>, !polyattn.feature<[4]>)
    -> !polyattn.feature<[4]>
  "polyattn.return"(%o) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "normalizer", arg_names = ["q"], result_names = ["o"],
    result_types = [tensor<?x?x?x4xf32>]} : () -> ()

// -----

// expected-error@+1 {{has result names and result types of different numbers}}
"polyattn.attention"() ({
^bb0(%q: tensor<?x?x?x4xf32>):
  "polyattn.return"() : () -> ()
}) {sym_name = "results", arg_names = ["q"], result_names = ["o"], result_types = []} : () -> ()

// -----

polyattn.feature_map @unknown_op(%x: [4]) {
  // expected-error @below {{custom op 'polyattn.elu_plus_on' is unknown; did you mean 'elu_plus_one'?}}
  %y = elu_plus_on %x : [4]
  return %y : [4]
}

// -----

polyattn.feature_map @degree_twice(%x: [4]) {
  // expected-error @below {{duplicate key 'degree'}}
  %y = power 2 %x {degree = 2} : [4]
}

// -----

polyattn.feature_map @degree_of_no_power(%x: [4]) {
  // expected-error @below {{takes 1 operands, got 0}}
  %y = relu 2 %x : [4]
}

// -----

polyattn.feature_map @degree_beyond_range(%x: [4]) {
  // expected-error @below {{integer value too large}}
  %y = power 99999999999999999999 %x : [4]
}
