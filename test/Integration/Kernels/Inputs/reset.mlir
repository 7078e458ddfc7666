// One number for each query, key and value, and a gate for each token: S <- exp(g) S + k v, o = q S.
polyattn.attention @reset(
    %q: tensor<?x?x?x1xf32>, %k: tensor<?x?x?x1xf32>, %v: tensor<?x?x?x1xf32>,
    %g: tensor<?x?x?xf32>, %s: tensor<?x?x1x1xf32>)
    -> (o: tensor<?x?x?x1xf32>, final: tensor<?x?x1x1xf32>) {
  %x = read %q : tensor<?x?x?x1xf32> -> [1]
  %y = read %k : tensor<?x?x?x1xf32> -> [1]
  %values = read %v : tensor<?x?x?x1xf32> -> [1]
  %o:2 = attend query %x key %y value %values decay %g initial %s causal normalize <none> {final_state}
    : [1], [1], [1], tensor<?x?x?xf32>, tensor<?x?x1x1xf32>
  return %o#0, %o#1 : [1], tensor<?x?x1x1xf32>
}
