// Initial states given as their transposes, and states of one column without their last dimension.

polyattn.attention @transposed(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x20xf32>,
    %g: tensor<?x?x?xf32>, %s: tensor<?x?x20x12xf32>)
    -> (o: tensor<?x?x?x20xf32>, final: tensor<?x?x12x20xf32>) {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %o:2 = attend query %a key %b value %c decay %g initial %s causal normalize <none>
      {initial_transposed, final_state, grouping = #polyattn.grouping<block>}
    : [12], [12], [20], tensor<?x?x?xf32>, tensor<?x?x20x12xf32>
  return %o#0, %o#1 : [20], tensor<?x?x12x20xf32>
}

// Features that have weights, divided out of what is given and multiplied into what is returned.
polyattn.attention @transposed_power(
    %q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>, %v: tensor<?x?x?x20xf32>,
    %s: tensor<?x?x20x21xf32>) -> (o: tensor<?x?x?x20xf32>, final: tensor<?x?x21x20xf32>) {
  %x = read %q : tensor<?x?x?x6xf32> -> [6]
  %y = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %a = power 2 %x {symmetric} : [6]
  %b = power 2 %y {symmetric} : [6]
  %o:2 = attend query %a key %b value %c initial %s anticausal normalize <none>
      {initial_transposed, final_state}
    : sym 2 [6], sym 2 [6], [20], tensor<?x?x20x21xf32>
  return %o#0, %o#1 : [20], tensor<?x?x21x20xf32>
}

// The transpose of one feature's values, and the state of values of one number.
polyattn.attention @columns(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %g: tensor<?x?x?xf32>,
    %row: tensor<?x?x12xf32>, %column: tensor<?x?x12xf32>)
    -> (o: tensor<?x?x?x12xf32>, p: tensor<?x?x?x1xf32>, final: tensor<?x?x12xf32>) {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %one = sum %a : [12]
  %two = sum %b : [12]
  %o = attend query %one key %two value %b decay %g initial %row causal normalize <none>
      {initial_transposed} : [1], [1], [12], tensor<?x?x?xf32>, tensor<?x?x12xf32>
  %p:2 = attend query %a key %b value %two decay %g initial %column causal normalize <none>
      {final_state} : [12], [12], [1], tensor<?x?x?xf32>, tensor<?x?x12xf32>
  return %o, %p#0, %p#1 : [12], [1], tensor<?x?x12x1xf32>
}
