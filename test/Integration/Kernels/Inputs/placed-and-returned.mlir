// A final state that lives in its initial one and is another result, too.
polyattn.attention @in_place(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>, %state: tensor<?x?x4x4xf32>)
    -> (o: tensor<?x?x?x4xf32>, f0: tensor<?x?x4x4xf32> in %state, f1: tensor<?x?x4x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %x key %y value %values initial %state causal normalize <none> {final_state, grouping = #polyattn.grouping<block>}
    : [4], [4], [4], tensor<?x?x4x4xf32>
  return %o#0, %o#1, %o#1 : [4], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
}

polyattn.attention @shared_by_heads(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x4xf32>,
    %state: tensor<?x?x4x4xf32>, %sums: tensor<?x?x4xf32>)
    -> (f1: tensor<?x?x4x4xf32>, z1: tensor<?x?x4xf32>, o: tensor<?x?x?x4xf32>, f0: tensor<?x?x4x4xf32> in %state, z0: tensor<?x?x4xf32> in %sums) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %a = elu_plus_one %x : [4]
  %b = elu_plus_one %y : [4]
  %values = read %v : tensor<?x?x?x4xf32> -> [4]
  %o:3 = attend query %a key %b value %values initial %state initial_normalizer %sums causal
      normalize <sum, eps = 1.0e-3> {final_state, grouping = #polyattn.grouping<block>}
    : [4], [4], [4], tensor<?x?x4x4xf32>, tensor<?x?x4xf32>
  return %o#1, %o#2, %o#0, %o#1, %o#2 : tensor<?x?x4x4xf32>, tensor<?x?x4xf32>, [4], tensor<?x?x4x4xf32>, tensor<?x?x4xf32>
}
