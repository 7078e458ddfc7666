// One test for each numbered constraint of feature_map, attention, read, apply and attend.
// RUN: polyattn-opt %s -split-input-file -verify-diagnostics

polyattn.feature_map @feature_map_c1(%x: [4]) { yield %x : [4] }
// expected-error@+1 {{C1: argument "x" is neither a feature vector nor a weight}}
polyattn.feature_map @feature_map_c1_type(%x: tensor<4xf32>) {
  %y = constant {value = 1.0, width = 1}
  yield %y : [1]
}

// -----

polyattn.feature_map @feature_map_c2(%x: [4]) {
  // expected-error@+1 {{block with no terminator}}
  %y = relu %x : [4]
}

// -----

polyattn.feature_map @yield_two(%x: [4]) {
  // expected-error@+1 {{expected ':'}}
  yield %x, %x : [4], [4]
}

// -----

// expected-error@+1 {{C1: argument "w" has the shape of no query, key, value or weight}}
polyattn.attention @attention_c1_shape(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: tensor<?x?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C1: argument "w" has the shape of no query, key, value or weight}}
polyattn.attention @attention_c1_rank(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: tensor<f32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C1: argument "w" has the shape of no query, key, value or weight}}
polyattn.attention @attention_c1_dynamic(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: tensor<4x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C1: argument "w" has the shape of no query, key, value or weight}}
polyattn.attention @attention_c1_empty(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: tensor<0x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C1: argument "w" is not a tensor}}
polyattn.attention @attention_c1_type(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: i32)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C2: argument "w" holds 'bf16' where sequences hold 'f32'}}
polyattn.attention @attention_c2_mixed(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: tensor<4x4xbf16>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C2: argument "w" must hold f32, bf16 or f16, not 'f64'}}
polyattn.attention @attention_c2_storage(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: tensor<4x4xf64>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attention_c2_decay(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %g: tensor<?x?x?xbf16>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C7: a decay is tensor<?x?x?xf32>}}
  %o = attend query %a key %b value %c decay %g causal normalize <none> : [4], [4], [4],
    tensor<?x?x?xbf16>
  return %o : [4]
}

// -----

// expected-error@+1 {{C2: a result must hold f32 or the sequences' storage type, not 'bf16'}}
polyattn.attention @attention_c2_result(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xbf16>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attention_c3_number(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  // expected-error@+1 {{C3: returns 2 values where the attention has 1 results}}
  return %o, %o : [4], [4]
}

// -----

// expected-error@+1 {{C3: a result of width 4 does not fit}}
polyattn.attention @attention_c3_width(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C3: a result of width 4 does not fit}}
polyattn.attention @attention_c3_rank(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C3: a result is not a tensor}}
polyattn.attention @attention_c3_type(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: i32) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C3: a result is neither a vector nor a final state}}
polyattn.attention @attention_c3_argument(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c causal normalize <none> : [4], [4], [4]
  return %q : tensor<?x?x?x4xf32>
}

// -----

polyattn.attention @attention_c3_return() -> () {
  // expected-error@+1 {{block with no terminator}}
  %y = constant {value = 1.0, width = 1}
}

// -----

// expected-error@+1 {{C4: the name 'q' is used twice}}
polyattn.attention @attention_c4_twice(%q: tensor<?x?x?x4xf32>) -> (q: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C4: '0' is not an identifier}}
polyattn.attention @attention_c4_identifier(%0: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %0 : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

polyattn.attention @read_c1(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: 'tensor<?x?x?x4xf32>' cannot be read as}}
  %z = read %v : tensor<?x?x?x4xf32> -> [5]
  return %a : [4]
}

// -----

polyattn.attention @read_c1_decay(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: 'tensor<?x?x?xf32>' cannot be read as}}
  %z = read %g : tensor<?x?x?xf32> -> [5]
  return %a : [4]
}

// -----

polyattn.attention @apply_c1(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: there is no feature map @nothing}}
  %o = apply @nothing(%q) : tensor<?x?x?x4xf32> -> [4]
  return %o : [4]
}

// -----

polyattn.attention @apply_c1_attention(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C1: there is no feature map @apply_c1_attention}}
  %o = apply @apply_c1_attention(%q) : tensor<?x?x?x4xf32> -> [4]
  return %o : [4]
}

// -----

polyattn.feature_map @id(%x: [4]) {
  yield %x : [4]
}
polyattn.attention @apply_c2_number(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: @id takes 1 arguments, got 2}}
  %o = apply @id(%q, %k) : tensor<?x?x?x4xf32>, tensor<?x?x?x4xf32> -> [4]
  return %o : [4]
}

// -----

polyattn.feature_map @id(%x: [4]) {
  yield %x : [4]
}
polyattn.attention @apply_c2_none(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: @id takes 1 arguments, got 0}}
  %o = apply @id() : -> [4]
  return %o : [4]
}

// -----

polyattn.feature_map @id(%x: [4]) {
  yield %x : [4]
}
polyattn.attention @apply_c2_width(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: tensor<?x?x?x5xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: argument "x" of @id is}}
  %o = apply @id(%w) : tensor<?x?x?x5xf32> -> [4]
  return %o : [4]
}

// -----

polyattn.feature_map @scaled(%x: [4], %w: 4) {
  %y = mul_vec %x, %w : [4], 4
  yield %y : [4]
}
polyattn.attention @apply_c2_weight(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %w: tensor<4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: argument "w" of @scaled is}}
  %o = apply @scaled(%q, %w) : tensor<?x?x?x4xf32>, tensor<4x4xf32> -> [4]
  return %o : [4]
}

// -----

polyattn.feature_map @id(%x: [4]) {
  yield %x : [4]
}
polyattn.attention @apply_c3(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C3: @id gives}}
  %o = apply @id(%q) : tensor<?x?x?x4xf32> -> [5]
  return %a : [4]
}

// -----

polyattn.feature_map @apply_recursion(%x: [4]) {
  // expected-error@+1 {{'polyattn.apply' op expects parent op 'polyattn.attention'}}
  %y = apply @apply_recursion(%x) : [4] -> [4]
  yield %y : [4]
}

// -----

polyattn.attention @attend_c1(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %h = select %b {indices = array<i64: 0, 1>} : [4]
  %p = concat %h, %h : [2], [2]
  // expected-error@+1 {{C1: query and key have different structures}}
  %o = attend query %a key %p value %c causal normalize <none> : [4], [2] + [2], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c2_types(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %h = select %b {indices = array<i64: 0, 1>} : [4]
  // expected-error@+1 {{C2: local query and key have different structures}}
  %o = attend query %a key %b value %c local %a, %h causal normalize <none> {block = 4} : [4],
    [4], [4], [4], [2]
  return %o : [4]
}

// -----

polyattn.attention @attend_c2_block(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: a local kernel needs the mask causal or anticausal, and a block}}
  %o = attend query %a key %b value %c local %a, %b causal normalize <none> : [4], [4], [4], [4],
    [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c2_mask(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: a local kernel needs the mask causal or anticausal, and a block}}
  %o = attend query %a key %b value %c local %a, %b full normalize <none> {block = 4} : [4], [4],
    [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c3(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C3: a block must be positive, got 0}}
  %o = attend query %a key %b value %c causal normalize <none> {block = 0} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c3_negative(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C3: a block must be positive, got -5}}
  %o = attend query %a key %b value %c causal normalize <none> {block = -5} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c4(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %aa = power 2 %a {symmetric} : [4]
  %bb = power 2 %b {symmetric} : [4]
  // expected-error@+1 {{C4: the local scores have degree 2, the scores degree 1}}
  %o = attend query %a key %b value %c local %aa, %bb causal normalize <none> {block = 4} : [4],
    [4], [4], sym 2 [4], sym 2 [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c5_identity(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C5: the scores may be negative}}
  %o = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-6> : [4], [4], [4]
  return %o : [4]
}

// -----

// cos(x) lies between -1 and 1: with 0.999 it may be negative.
polyattn.attention @attend_c5_bounds(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = cos %a : [4]
  %c = add_const %b {value = 0.999} : [4]
  %d = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C5: the scores may be negative}}
  %o = attend query %c key %c value %d causal normalize <sum, eps = 1.0e-6> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c5_odd(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %aa = power 3 %a {symmetric} : [4]
  %bb = power 3 %b {symmetric} : [4]
  // expected-error@+1 {{C5: the scores may be negative}}
  %o = attend query %aa key %bb value %c causal normalize <bias, bias = 1.0> : sym 3 [4], sym 3
    [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c5_local(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %ra = relu %a : [4]
  %rb = relu %b : [4]
  // expected-error@+1 {{C5: the scores may be negative}}
  %o = attend query %ra key %rb value %c local %a, %b causal normalize <bias, bias = 1.0> {block
    = 4} : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

// 1 + s + s^2 / 5 is negative between its roots.
polyattn.feature_map @taylor(%x: [4]) {
  %one = constant {value = 1.0, width = 1}
  %xx = power 2 %x {symmetric} : [4]
  %half = scale %xx {factor = 0.44721359549995793} : sym 2 [4]
  %y = concat %one, %x, %half : [1], [4], sym 2 [4]
  yield %y : [1] + [4] + sym 2 [4]
}
polyattn.attention @attend_c5_taylor(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %aa = apply @taylor(%q) : tensor<?x?x?x4xf32> -> [1] + [4] + sym 2 [4]
  %bb = apply @taylor(%k) : tensor<?x?x?x4xf32> -> [1] + [4] + sym 2 [4]
  // expected-error@+1 {{C5: the scores may be negative}}
  %o = attend query %aa key %bb value %c causal normalize <sum, eps = 1.0e-6> : [1] + [4] + sym 2
    [4], [1] + [4] + sym 2 [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c6_mask(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C6: a decay needs a mask with an order}}
  %o = attend query %a key %b value %c decay %g full normalize <none> : [4], [4], [4],
    tensor<?x?x?xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c6_both(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C6: a decay is a tensor or a list, not both}}
  %o = attend query %a key %b value %c decay %g causal normalize <none> {decay_factors =
    array<f64: 0.5>} : [4], [4], [4], tensor<?x?x?xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c7_channel(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %g: tensor<?x?x?x5xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C7: a decay is tensor<?x?x?xf32>, per token and head, tensor<?xf32>, per head, or tensor<?x?x?x4xf32>, per token and feature; got 'tensor<?x?x?x5xf32>'}}
  %o = attend query %a key %b value %c decay %g causal normalize <none> : [4], [4], [4],
    tensor<?x?x?x5xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c7_factor(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C7: a decay factor must be in (0, 1], got 0}}
  %o = attend query %a key %b value %c causal normalize <none> {decay_factors = array<f64: 0.5,
    0.0>} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @empty_decay_factors(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C7: `decay_factors` has a number for each head, and is empty; leave it out where nothing decays}}
  %o = attend query %a key %b value %c causal normalize <none> {decay_factors = array<f64>}
    : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c7_factor_large(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C7: a decay factor must be in (0, 1], got 1.5}}
  %o = attend query %a key %b value %c causal normalize <none> {decay_factors = array<f64: 1.5>}
    : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c8_shape(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %s: tensor<?x?x4x5xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: expected an initial state tensor<?x?x4x4xf32>}}
  %o = attend query %a key %b value %c initial %s causal normalize <none> : [4], [4], [4],
    tensor<?x?x4x5xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c8_no_normalizer(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: an initial normalizer is given where, and only where, there is a normalizer}}
  %o = attend query %a key %b value %c initial %s causal normalize <sum, eps = 1.0e-6>
    {signed_scores} : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c8_normalizer(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %z: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: an initial normalizer is given where, and only where, there is a normalizer}}
  %o = attend query %a key %b value %c initial %s initial_normalizer %z causal normalize <none> :
    [4], [4], [4], tensor<?x?x4x4xf32>, tensor<?x?x4xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c8_lonely(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %z: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: an initial normalizer needs an initial state}}
  %o = attend query %a key %b value %c initial_normalizer %z causal normalize <sum, eps = 1.0e-6>
    {signed_scores} : [4], [4], [4], tensor<?x?x4xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c8_normalizer_shape(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>,
    %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %z: tensor<?x?x5xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: expected an initial normalizer tensor<?x?x4xf32>}}
  %o = attend query %a key %b value %c initial %s initial_normalizer %z causal normalize <sum,
    eps = 1.0e-6> {signed_scores} : [4], [4], [4], tensor<?x?x4x4xf32>, tensor<?x?x5xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c9_final(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %wa = power 64 %a : [4]
  %wb = power 64 %b : [4]
  // expected-error@+1 {{C9: a final state of 4611686018427387904 features is too large to hold}}
  %o:2 = attend query %wa key %wb value %c causal normalize <none> {final_state} : pow 64 [4],
    pow 64 [4], [4]
  return %c : [4]
}

// -----

polyattn.attention @attend_c9_initial(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %wa = power 64 %a : [4]
  %wb = power 64 %b : [4]
  // expected-error@+1 {{C9: a state of 4611686018427387904 features is too large to hold}}
  %o = attend query %wa key %wb value %c initial %s causal normalize <none> : pow 64 [4], pow 64
    [4], [4], tensor<?x?x4x4xf32>
  return %c : [4]
}

// -----

polyattn.attention @attend_c9_abs(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %aa = power 3 %a {symmetric, abs} : [4]
  %bb = power 3 %b {symmetric, abs} : [4]
  // expected-error@+1 {{C9: an odd power of |score| has no features and so no state}}
  %o:2 = attend query %aa key %bb value %c causal normalize <none> {final_state} : sym 3 [4], sym
    3 [4], [4]
  return %c : [4]
}

// -----

polyattn.attention @attend_c10(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C10: a state needs the mask causal or anticausal}}
  %o:2 = attend query %a key %b value %c full normalize <none> {final_state} : [4], [4], [4]
  return %c : [4]
}

// -----

polyattn.attention @attend_c11(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C11: score_scale must be finite}}
  %o = attend query %a key %b value %c causal normalize <none> {score_scale = 0x7FF0000000000000
    : f64} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c12(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %b value %c causal normalize <none> {final_state}
    : [4], [4], [4]
  // expected-error@+1 {{C12: a decay or an initial state must be an argument}}
  %o2 = attend query %a key %b value %c initial %o#1 causal normalize <none> : [4], [4], [4],
    tensor<?x?x4x4xf32>
  return %c : [4]
}

// -----

polyattn.attention @read_c2(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %b value %c causal normalize <none> {final_state}
    : [4], [4], [4]
  // expected-error@+1 {{C2: the tensor must be an argument of the attention}}
  %z = read %o#1 : tensor<?x?x4x4xf32> -> [4]
  return %c : [4]
}

// -----

polyattn.attention @attend_c13(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v:
    tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C13: `eps_mode = row_max` has no state}}
  %o:3 = attend query %a key %b value %c causal normalize <sum, eps = 1.0e-6, eps_mode = row_max>
    {signed_scores, final_state} : [4], [4], [4]
  return %c : [4]
}

// -----

// expected-error@+1 {{C3: there is nothing to compute without a result}}
"polyattn.attention"() ({
  "polyattn.return"() : () -> ()
}) {sym_name = "attention_c3_nothing", arg_names = [], result_names = [], result_types = []}
  : () -> ()

// -----

// expected-error@+1 {{C5: argument "first" is the first position and must be tensor<?xi64> or tensor<?xi32>, not 'tensor<?xf32>'}}
polyattn.attention @attention_c5_type(%q: tensor<?x?x?x4xf32>, %first: tensor<?xf32>)
    -> (o: tensor<?x?x?x4xf32>) first_position %first {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C5: argument "first" is the first position and must be tensor<?xi64> or tensor<?xi32>, not 'tensor<4xi64>'}}
polyattn.attention @attention_c5_shape(%q: tensor<?x?x?x4xf32>, %first: tensor<4xi64>)
    -> (o: tensor<?x?x?x4xf32>) first_position %first {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C5: argument "at" is the offsets and must be tensor<?xi64> or tensor<?xi32>, not 'tensor<?xf32>'}}
polyattn.attention @attention_c5_offsets(%q: tensor<?x?x?x4xf32>, %at: tensor<?xf32>)
    -> (o: tensor<?x?x?x4xf32>) packed %at {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C5: two clauses name argument "at"}}
polyattn.attention @attention_c5_both(%q: tensor<?x?x?x4xf32>, %at: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>) first_position %at packed %at {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C9: packed sequences have offsets, and no lengths}}
polyattn.attention @attention_c9(%q: tensor<?x?x?x4xf32>, %l: tensor<?xi32>, %at: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>) lengths %l packed %at {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C5: argument "first" holds whole numbers, but no `first_position`, `slots`, `lengths` or `packed` names it}}
polyattn.attention @attention_c5_unnamed(%q: tensor<?x?x?x4xf32>, %first: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

polyattn.attention @attention_c5_name(%q: tensor<?x?x?x4xf32>, %first: tensor<?xi64>)
    // expected-error@+1 {{C5: there is no argument %last}}
    -> (o: tensor<?x?x?x4xf32>) first_position %last {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C5: there is no argument 7}}
"polyattn.attention"() ({
^bb0(%q: tensor<?x?x?x4xf32>):
  %a = "polyattn.read"(%q) : (tensor<?x?x?x4xf32>) -> !polyattn.feature<[4]>
  "polyattn.return"(%a) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "attention_c5_index", arg_names = ["q"], result_names = ["o"],
    result_types = [tensor<?x?x?x4xf32>], first_position = 7 : i64} : () -> ()

// -----

// expected-error@+1 {{C2: argument "k" holds 'f32' where other sequences hold 'bf16'}}
polyattn.attention @attention_c2_sequences(%q: tensor<?x?x?x4xbf16>, %k: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xbf16> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C2: argument "w" holds 'f16' where sequences hold 'bf16'}}
polyattn.attention @attention_c2_weight(%w: tensor<4x4xf16>, %q: tensor<?x?x?x4xbf16>,
    %u: tensor<4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xbf16> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C3: a result 'tensor<?x?x?x4xf32>' is given a '!polyattn.weight<4x4>'}}
polyattn.attention @return_of_weight(%q: tensor<?x?x?x4xf32>, %w: tensor<4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>) {
  %a = read %w : tensor<4x4xf32> -> 4x4
  return %a : 4x4
}

// -----

polyattn.feature_map @identity(%x: [4]) {
  yield %x : [4]
}
"polyattn.attention"() ({
^bb0(%n: index):
  // expected-error@+1 {{operand #0 must be variadic of ranked tensor of any type values or a vector of features}}
  %a = "polyattn.apply"(%n) {map = @identity} : (index) -> !polyattn.feature<[4]>
  "polyattn.return"(%a) : (!polyattn.feature<[4]>) -> ()
}) {sym_name = "apply_of_index", arg_names = ["n"], result_names = ["o"],
    result_types = [tensor<?x?x?x4xf32>]} : () -> ()

// -----

// expected-error@+1 {{C5: argument "slots" is the slots and must be tensor<?xi64> or tensor<?xi32>, not 'tensor<?xf32>'}}
polyattn.attention @slots_of_floats(%q: tensor<?x?x?x4xf32>, %slots: tensor<?xf32>)
    -> (o: tensor<?x?x?x4xf32>) slots %slots {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C5: two clauses name argument "n"}}
polyattn.attention @two_clauses(%q: tensor<?x?x?x4xf32>, %n: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>) slots %n lengths %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C8: slots are rows of pools of states, and there is no state}}
polyattn.attention @slots_without_state(%q: tensor<?x?x?x4xf32>, %n: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>) slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C7: result "f", 'tensor<?x?x4x1xf32>', lives in argument "s", which has another type, 'tensor<?x?x4xf32>'}}
polyattn.attention @place_of_another_type(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x1xf32>, %s: tensor<?x?x4xf32>)
    -> (o: tensor<?x?x?x1xf32>, f: tensor<?x?x4x1xf32> in %s) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x1xf32> -> [1]
  %o:2 = attend query %a key %a value %c initial %s causal normalize <none> {final_state} : [4], [4], [1], tensor<?x?x4xf32>
  return %o#0, %o#1 : [1], tensor<?x?x4x1xf32>
}

// -----

// expected-error@+1 {{C8: with slots a state is one result, in its pool, and result "g" is another one that lives in no argument}}
polyattn.attention @state_returned_twice(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %n: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, g: tensor<?x?x4x4xf32>) slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a initial %s causal normalize <none> {final_state} : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %o#1 : [4], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @slots_of_batches(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>, %n: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32>) slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: with slots a state begins and ends in a pool}}
  %o:2 = attend query %a key %a value %a initial %s causal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @lengths_of_all(%q: tensor<?x?x?x4xf32>, %n: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>) lengths %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: with slots or lengths the mask must be causal}}
  %o = attend query %a key %a value %a full normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @local_lengths(%q: tensor<?x?x?x4xf32>, %n: tensor<?xi32>)
    -> (o: tensor<?x?x?x4xf32>) lengths %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: with slots or lengths local vectors need the rows of their block}}
  %o = attend query %a key %a value %a local %a, %a causal normalize <none> {block = 4}
    : [4], [4], [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C7: result "f" lives in argument "q", but is not the final state of the one attend whose initial state that is}}
polyattn.attention @lives_elsewhere(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %q) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a initial %s causal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// -----

// expected-error@+1 {{C7: two results live in argument "s"}}
polyattn.attention @lives_twice(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, g: tensor<?x?x4x4xf32> in %s) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a initial %s causal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %o#1 : [4], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
}

// -----

// expected-error@+2 {{C7: there is no argument %none}}
polyattn.attention @lives_nowhere(%q: tensor<?x?x?x4xf32>)
    -> (o: tensor<?x?x?x4xf32> in %none) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

polyattn.attention @transposed(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>, %s: tensor<?x?x4x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  // expected-error@+1 {{C8: expected an initial state tensor<?x?x8x4xf32>}}
  %o = attend query %a key %a value %c initial %s causal normalize <none> {initial_transposed}
    : [4], [4], [8], tensor<?x?x4x8xf32>
  return %o : [8]
}

// -----

polyattn.attention @nothing_transposed(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C8: there is no initial state to be transposed}}
  %o = attend query %a key %a value %a causal normalize <none> {initial_transposed} : [4], [4], [4]
  return %o : [4]
}

// -----

// expected-error@+1 {{C3: a result 'tensor<?x?x4xf32>' is given a 'tensor<?x?x4x4xf32>'}}
polyattn.attention @no_column(%q: tensor<?x?x?x4xf32>) -> (final: tensor<?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a causal normalize <none> {final_state} : [4], [4], [4]
  return %o#1 : tensor<?x?x4x4xf32>
}

// -----

// expected-error@+1 {{C7: result "f" lives in argument "s", but is not the final state of the one attend whose initial state that is}}
polyattn.attention @transposed_in_place(%q: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a initial %s causal normalize <none>
      {initial_transposed, final_state} : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}

// -----

polyattn.attention @kept_of_another_block(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x4xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x4xf32> in %pool, w: tensor<?x?x16x4xf32> in %more) first_position %at slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C10: keeps 16 rows where a local block has 8}}
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %w = keep %v in %more : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %o:2 = attend query %a key %a value %b local %a, %a initial %s causal normalize <none> {final_state, block = 8}
    : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @kept_without_first(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x4xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x4xf32> in %pool, w: tensor<?x?x16x4xf32> in %more) slots %n packed %at {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C10: rows are kept for calls with `slots` and `first_position`}}
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %w = keep %v in %more : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %o:2 = attend query %a key %a value %b local %a, %a initial %s causal normalize <none> {final_state, block = 16}
    : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @values_not_kept(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x4xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x4xf32> in %pool) first_position %at slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  // expected-error@+1 {{C10: its keys need the rows of argument "v" kept}}
  %o:2 = attend query %a key %a value %b local %a, %a initial %s causal normalize <none> {final_state, block = 16}
    : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @kept_twice(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x4xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x4xf32> in %pool, w: tensor<?x?x16x4xf32> in %more) first_position %at slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  // expected-error@+1 {{C10: the tensor's rows are kept already}}
  %w = keep %q in %more : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %o:2 = attend query %a key %a value %b local %a, %a initial %s causal normalize <none> {final_state, block = 16}
    : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @kept_nowhere(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x4xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x4xf32> in %pool, w: tensor<?x?x16x4xf32>) first_position %at slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  // expected-error@+1 {{C10: what is kept must be a result that lives in the pool}}
  %w = keep %v in %more : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %o:2 = attend query %a key %a value %b local %a, %a initial %s causal normalize <none> {final_state, block = 16}
    : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @kept_for_nobody(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x4xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x4xf32> in %pool, w: tensor<?x?x16x4xf32> in %more) first_position %at slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C10: no key or value that rows are kept of is read from this tensor}}
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %w = keep %v in %more : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %o:2 = attend query %a key %b value %b local %a, %b initial %s causal normalize <none> {final_state, block = 16}
    : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @kept_in_a_pool_of_another_width(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x8xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x8xf32> in %pool, w: tensor<?x?x16x4xf32> in %more) first_position %at slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: a pool 'tensor<?x?x16x8xf32>' does not keep rows of 'tensor<?x?x?x4xf32>'}}
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x8xf32>
  %w = keep %v in %more : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %o:2 = attend query %a key %a value %b local %a, %a initial %s causal normalize <none> {final_state, block = 16}
    : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x8xf32>, tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @kept_in_one_pool(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x4xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x4xf32> in %pool, w: tensor<?x?x16x4xf32> in %more) first_position %at slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C3: something else uses the pool, too}}
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %w = keep %v in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %o:2 = attend query %a key %a value %b local %a, %a initial %s causal normalize <none> {final_state, block = 16}
    : [4], [4], [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x4xf32>
}

// -----

polyattn.attention @plain_beside_kept(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %s: tensor<?x?x4x4xf32>,
    %pool: tensor<?x?x16x4xf32>, %more: tensor<?x?x16x4xf32>, %n: tensor<?xi32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32> in %s, k: tensor<?x?x16x4xf32> in %pool, w: tensor<?x?x16x4xf32> in %more) first_position %at slots %n {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  %k = keep %q in %pool : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  %w = keep %v in %more : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
  // expected-error@+1 {{C10: where rows are kept every attend has local vectors or a window, and this one has none}}
  %o:2 = attend query %a key %a value %b initial %s causal normalize <none> {final_state}
    : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %k, %w : [4], tensor<?x?x4x4xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x4xf32>
}

// -----

// expected-error@+1 {{expected 'polyattn.invariant' without a value, got true}}
module attributes {polyattn.invariant = true} {
}

// -----

// expected-error@+1 {{has 'polyattn.invariant', which is for modules}}
func.func private @f() attributes {polyattn.invariant}

// -----

// expected-error@+1 {{has 'polyattn.invariance', which is no attribute of this dialect}}
module attributes {polyattn.invariance} {
}

// -----

polyattn.attention @attend_types(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{expected a type for each of %x, %x, %x, %g behind the colon, got 3}}
  %o = attend query %x key %x value %x decay %g causal normalize <none> : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_too_many_types(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{expected a type for each of %x, %x, %x behind the colon, got 4}}
  %o = attend query %x key %x value %x causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_kinds(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{%x must be a tensor, got [4]}}
  %o = attend query %x key %x value %x decay %x causal normalize <none> : [4], [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @attend_c20_mask(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C20: a decay of each feature needs the mask causal and a state}}
  %o = attend query %a key %a value %a decay %g anticausal normalize <none> : [4], [4], [4], tensor<?x?x?x4xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c20_full(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C6: a decay needs a mask with an order}}
  %o = attend query %a key %a value %a decay %g full normalize <none> : [4], [4], [4], tensor<?x?x?x4xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c20_local(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C20: a decay of each feature needs the mask causal and a state, and is not for local vectors}}
  %o = attend query %a key %a value %a local %a, %a decay %g causal normalize <none> {block = 8 : i64} : [4], [4], [4], [4], [4], tensor<?x?x?x4xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c20_products(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C20: attends with a decay of each feature have no gradients yet}}
  %o:2 = attend query %a key %a value %a decay %g products %a causal normalize <none> : [4], [4], [4], tensor<?x?x?x4xf32>, [4]
  return %o#0 : [4]
}

// -----

polyattn.attention @attend_c20_row_max(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C20: a decay of each feature needs the mask causal and a state}}
  %o = attend query %a key %a value %a decay %g causal normalize <sum, eps = 1.0, eps_mode = row_max> {signed_scores} : [4], [4], [4], tensor<?x?x?x4xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c20_absolute(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x64xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %p = power 3 %a {abs} : [4]
  // expected-error@+1 {{C20: an odd power of |score| has no features that decay}}
  %o = attend query %p key %p value %a decay %g causal normalize <none> : pow 3 [4], pow 3 [4], [4], tensor<?x?x?x64xf32>
  return %o : [4]
}

// -----

polyattn.attention @attend_c20_other_state(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = state key %a value %a causal : [4], [4]
  // expected-error@+1 {{C20: a decay of each feature is that of a `channel_state`, which is read as it is}}
  %o = attend query %a key %a value %a decay %g state %s causal normalize <none> : [4], [4], [4], tensor<?x?x?x4xf32>, !polyattn.state<4x4>
  return %o : [4]
}

// -----

// expected-error@+1 {{C13: argument "g", 'tensor<?x?x?xf32, #polyattn.shared_heads>', is no sequence [B, T, Hkv, d] whose heads are shared}}
polyattn.attention @attention_c13_decay(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32, #polyattn.shared_heads>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %a value %a decay %g causal normalize <none> : [4], [4], [4], tensor<?x?x?xf32, #polyattn.shared_heads>
  return %o : [4]
}

// -----

// expected-error@+1 {{C1: argument "q" has the shape of no query, key, value or weight: 'tensor<?x?x?x4xf32, "sparse">'}}
polyattn.attention @attention_c13_encoding(%q: tensor<?x?x?x4xf32, "sparse">, %k: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %k : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C1: argument "w" has the shape of no query, key, value or weight: 'tensor<4x8xf32, #polyattn.shared_heads>'}}
polyattn.attention @attention_c13_weight(%q: tensor<?x?x?x4xf32>, %w: tensor<4x8xf32, #polyattn.shared_heads>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C13: result "o", 'tensor<?x?x?x4xf32, #polyattn.shared_heads>', is no sequence}}
polyattn.attention @attention_c13_result(%q: tensor<?x?x?x4xf32, #polyattn.shared_heads>) -> (o: tensor<?x?x?x4xf32, #polyattn.shared_heads>) {
  %a = read %q : tensor<?x?x?x4xf32, #polyattn.shared_heads> -> [4]
  return %a : [4]
}

// -----

// expected-error@+1 {{C13: result "o" is summed up over heads (`sum_heads`), and 'tensor<?x?x?x4xf32>' has no shared ones}}
polyattn.attention @attention_c13_sum(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %s = sum_heads %a : [4]
  return %s : [4]
}

// -----

// expected-error@+1 {{C13: heads share every sequence, and no argument says how many heads there are}}
polyattn.attention @attention_c13_heads(%q: tensor<?x?x?x4xf32, #polyattn.shared_heads>, %t: tensor<?x1x4xf32>, %w: tensor<4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32, #polyattn.shared_heads> -> [4]
  return %a : [4]
}

// -----

polyattn.attention @attention_c13_grouping(%q: tensor<?x?x?x4xf32, #polyattn.shared_heads>, %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32, #polyattn.shared_heads> -> [4]
  %b = read %v : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C13: groups heads `interleaved` beside a sequence whose heads are shared}}
  %o = attend query %a key %a value %b causal normalize <none> {grouping = #polyattn.grouping<interleaved>} : [4], [4], [4]
  return %o : [4]
}

// -----

polyattn.attention @sum_heads_c1(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x16xf32, #polyattn.shared_heads>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = power 2 %a : [4]
  // expected-error@+1 {{C1: expected a plain vector}}
  %s = sum_heads %b : pow 2 [4]
  return %s : pow 2 [4]
}

// -----

polyattn.attention @sum_heads_c2(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  // expected-error@+1 {{C2: the sum over heads can only be returned, but polyattn.relu uses it}}
  %s = sum_heads %a : [4]
  %b = relu %s : [4]
  return %b : [4]
}

// -----

polyattn.attention @sum_heads_c3(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32, #polyattn.shared_heads>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o = kernel @k {
    // expected-error@+1 {{C3: in a kernel the vector is what another kernel yields}}
    %s = sum_heads %a : [4]
    kernel_yield %s : [4]
  }
  return %o : [4]
}

// -----

polyattn.attention @sum_heads_c12(%q: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32, #polyattn.shared_heads>, p: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %k = kernel @k {
    kernel_yield %a : [4]
  }
  // expected-error@+1 {{C12: stands outside of the attention's kernels}}
  %s = sum_heads %k : [4]
  return %s, %k : [4], [4]
}
