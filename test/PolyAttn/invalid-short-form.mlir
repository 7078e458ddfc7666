// What is wrong in the short form is said at its place, with the name that was meant.
// RUN: polyattn-opt %s -split-input-file -verify-diagnostics

polyattn.attention @function(q, k, v: seq[8]) {
  // expected-error@+1 {{there is no function or map 'elu_plus_on'; did you mean 'elu_plus_one'?}}
  return attend(elu_plus_on(q), elu_plus_one(k), v) causal normalize none
}

// -----

polyattn.attention @name(query, k, v: seq[8]) {
  // expected-error@+1 {{there is no 'qeury'; did you mean 'query'?}}
  return attend(qeury, k, v) causal normalize none
}

// -----

// expected-error@+1 {{expected what the argument is, one of seq, shared_seq, table,}}
polyattn.attention @type(q, k, v: sequ[8]) {
}

// -----

// expected-error@+1 {{there is no 'dd'; did you mean 'd'?}}
polyattn.attention @size<d = 8>(q, k, v: seq[dd]) {
}

// -----

// expected-error@+1 {{expected a size of 1 to 2147483647 for 'd', got 0}}
polyattn.attention @size_value<d = 0>(q, k, v: seq[d]) {
}

// -----

// expected-error@+1 {{expected a whole number, got 1.5}}
polyattn.attention @size_part<d = 3>(q, k, v: seq[d / 2]) {
}

// -----

// expected-error@+1 {{expected `seq` with 1 sizes, got 2}}
polyattn.attention @sizes(q, k, v: seq[8, 8]) {
}

// -----

// expected-error@+1 {{'k' has no type: `k: seq[64]`}}
polyattn.attention @untyped(q: seq[8], k, v) {
}

// -----

// expected-error@+1 {{there is a 'q' already: a name means one thing}}
polyattn.attention @argument_twice(q, q, v: seq[8]) {
}

// -----

// expected-error@+1 {{expected the type of the elements, one of f32, bf16, f16, got 'bf61'; did you mean 'bf16'?}}
polyattn.attention @elements(q, k, v: seq[8] bf61) {
}

// -----

// expected-error@+1 {{an attention has one argument `lengths`}}
polyattn.attention @lengths_twice(q, k, v: seq[8], n, m: lengths) {
}

// -----

// expected-error@+1 {{there is no argument 'stat'; did you mean 'state'?}}
polyattn.attention @place(q, k, v: seq[8], state: state[8, 8]) -> (o, final in stat) {
}

// -----

polyattn.attention @results(q, k, v: seq[8]) -> (o, final) {
  // expected-error@+1 {{expected 2 values, as many as behind `->`, got 1}}
  return attend(q, k, v) causal normalize none
}

// -----

polyattn.attention @name_twice(q, k, v: seq[8]) {
  x = exp(q)
  // expected-error@+1 {{there is a 'x' already: a name means one thing}}
  x = exp(k)
}

// -----

polyattn.attention @statement(q, k, v: seq[8]) {
  // expected-error@+1 {{expected `name = expression`, `map`, `read` or `return`}}
  exp(q)
}

// -----

polyattn.attention @no_return(q, k, v: seq[8]) {
  x = exp(q)
// expected-error@+1 {{expected `name = expression`, `map`, `read` or `return`}}
}

// -----

polyattn.attention @operands(q, k, v: seq[8]) {
  // expected-error@+1 {{'relu' takes 1 operand, got 2}}
  x = relu(q, k)
}

// -----

polyattn.attention @few_operands(q, k, v: seq[8]) {
  // expected-error@+1 {{'project' takes 2 to 3 operands, got 1}}
  x = project(q)
}

// -----

polyattn.attention @needs(q, k, v: seq[8]) {
  // expected-error@+1 {{'layer_norm' needs `eps`, which has no default}}
  x = layer_norm(q)
}

// -----

polyattn.attention @needs_degree(q, k, v: seq[8]) {
  // expected-error@+1 {{'sym' needs `degree`, which has no default}}
  x = sym(q)
}

// -----

polyattn.attention @parameter(q, k, v: seq[8]) {
  // expected-error@+1 {{'softmax' has no 'group'; did you mean 'groups'?}}
  x = softmax(q, group = 2)
}

// -----

polyattn.attention @parameter_twice(q, k, v: seq[8]) {
  // expected-error@+1 {{'degree' is given twice}}
  x = sym(q, 2, degree = 2)
}

// -----

polyattn.attention @word(q, k, v: seq[8]) {
  // expected-error@+1 {{expected eps_place, one of inside, outside, got 'outsid'; did you mean 'outside'?}}
  x = layer_norm(q, eps = 1e-6, eps_place = outsid)
}

// -----

polyattn.attention @flag(q, k, v: seq[8]) {
  // expected-error@+1 {{expected abs, one of true, false, got 'yes'}}
  x = sym(q, 2, abs = yes)
}

// -----

polyattn.attention @order(q, k, v: seq[8], w: weight[8]) {
  // expected-error@+1 {{operands come before what is given by name}}
  x = layer_norm(q, eps = 1e-6, w)
}

// -----

polyattn.attention @vector(q, k, v: seq[8], w: weight[8]) {
  // expected-error@+1 {{expected a vector, got a weight}}
  x = exp(w)
}

// -----

polyattn.attention @weight(q, k, v: seq[8]) {
  // expected-error@+1 {{expected a weight, got a vector}}
  x = project(q, k)
}

// -----

polyattn.attention @number_operand(q, k, v: seq[8]) {
  // expected-error@+1 {{expected a vector or a weight, got a number}}
  x = exp(2)
}

// -----

polyattn.attention @decay_operand(q, k, v: seq[8], g: decay) {
  // expected-error@+1 {{expected a vector or a weight, got a decay or a state}}
  x = exp(g)
}

// -----

polyattn.attention @two_weights(q, k, v: seq[8], w: weight[8]) {
  // expected-error@+1 {{expected a vector on one side, got a weight and a weight}}
  x = w * w
}

// -----

polyattn.attention @vector_as_number(q, k, v: seq[8]) {
  // expected-error@+1 {{expected a number, got a vector}}
  x = clamp_min(q, k)
}

// -----

polyattn.attention @by_zero(q, k, v: seq[8]) {
  // expected-error@+1 {{a division by 0}}
  x = q / (1 - 1)
}

// -----

polyattn.attention @root(q, k, v: seq[8]) {
  // expected-error@+1 {{the root of a negative number, -2}}
  x = q * sqrt(-2)
}

// -----

polyattn.attention @element(q, k, v: seq[8]) {
  // expected-error@+1 {{expected elements of 0 to 7, negative ones from the end, got 8}}
  x = q[8]
}

// -----

polyattn.attention @range(q, k, v: seq[8]) {
  // expected-error@+1 {{expected elements of 0 to 7, negative ones from the end, got 2:9}}
  x = q[2:9]
}

// -----

polyattn.attention @inference(q, k: seq[8], v: seq[4]) {
  // expected-error@+1 {{C1: expected operands of one width, got 4 and 8}}
  x = q + v
}

// -----

polyattn.attention @number(q, k, v: seq[8]) {
  // expected-error@+1 {{expected a decimal number such as 64, 0.5 or 1e-6}}
  x = q * 0x10
}

// -----

polyattn.attention @map_arguments(q, k, v: seq[8]) {
  map phi(x, c) = x * c
  // expected-error@+1 {{'phi' takes 2 operands, got 1}}
  x = phi(q)
}

// -----

// What is wrong in a map is said there, and where the map is used.
polyattn.attention @map_use(q, k, v: seq[8]) {
  // expected-error@+1 {{expected a vector or a weight, got a number}}
  map phi(x) = exp(x)
  // expected-note@+1 {{the map is used here}}
  x = phi(3)
}

// -----

polyattn.attention @map_name(q, k, v: seq[8]) {
  // expected-error@+1 {{there is no 'y'}}
  map phi(x) = exp(y)
}

// -----

// Maps use maps that come before them, so that none uses itself.
polyattn.attention @recursion(q, k, v: seq[8]) {
  // expected-error@+1 {{there is no function or map 'phi'}}
  map phi(x) = phi(x)
}

// -----

polyattn.attention @map_twice(q, k, v: seq[8]) {
  map phi(x) = exp(x)
  // expected-error@+1 {{there is a map 'phi' already}}
  map phi(x) = exp(x)
}

// -----

polyattn.attention @map_of_function(q, k, v: seq[8]) {
  // expected-error@+1 {{'relu' is a function of the language, and no map}}
  map relu(x) = exp(x)
}

// -----

polyattn.attention @map_body(q, k, v: seq[8]) {
  // expected-error@+1 {{expected `=` and the map's expression, or `{` and its statements}}
  map phi(x) return x
}

// -----

polyattn.attention @attend_inside(q, k, v: seq[8]) {
  // expected-error@+1 {{`attend` is not part of an expression}}
  x = exp(attend(q, k, v)) * 2
}

// -----

polyattn.attention @attend_two(q, k, v: seq[8]) {
  // expected-error@+1 {{attend takes a query, a key and a value, got 2}}
  return attend(q, k) causal normalize none
}

// -----

polyattn.attention @mask(q, k, v: seq[8]) {
  // expected-error@+1 {{expected the mask, one of causal, full, anticausal, got 'casual'; did you mean 'causal'?}}
  return attend(q, k, v) casual normalize none
}

// -----

polyattn.attention @normalizer(q, k, v: seq[8]) {
  // expected-error@+2 {{expected `normalize` and none, sum(eps), bias(number) or softmax: a normalizer has no default}}
  return attend(q, k, v) causal
}

// -----

polyattn.attention @normalizer_eps(q, k, v: seq[8]) {
  // expected-error@+1 {{a normalizer `sum` says its eps, which has no default: `sum(0)` for none}}
  return attend(q, k, v) causal normalize sum
}

// -----

polyattn.attention @normalizer_field(q, k, v: seq[8]) {
  // expected-error@+1 {{unknown field 'min_denum' of a normalizer; did you mean 'min_denom'?}}
  return attend(q, k, v) causal normalize sum(1e-6, min_denum = 2)
}

// -----

polyattn.attention @normalizer_value(q, k, v: seq[8]) {
  // expected-error@+1 {{eps must be finite and not negative}}
  return attend(q, k, v) causal normalize sum(-1)
}

// -----

polyattn.attention @clause(q, k, v: seq[8]) {
  // expected-error@+1 {{attend has no clause 'signed_score'; did you mean 'signed_scores'?}}
  return attend(q, k, v) causal normalize sum(0) signed_score
}

// -----

polyattn.attention @clause_twice(q, k, v: seq[8]) {
  // expected-error@+1 {{`final_state` is given twice}}
  return attend(q, k, v) causal normalize none final_state final_state
}

// -----

polyattn.attention @clause_argument(q, k, v: seq[8]) {
  // expected-error@+1 {{expected an argument of the attention, got a number}}
  return attend(q, k, v) causal normalize none decay 0.5
}

// -----

polyattn.attention @names_of_results(q, k, v: seq[8]) {
  // expected-error@+1 {{expected as many names as results, 2, got 1}}
  o = attend(q, k, v) causal normalize none final_state
  return o
}

// -----

// Rules of the dialect are those of the long form, at the expression.
polyattn.attention @rule(q, k, v: seq[8]) {
  // expected-error@+1 {{C5: the scores may be negative}}
  return attend(q, k, v) causal normalize sum(0)
}
