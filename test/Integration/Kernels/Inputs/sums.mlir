// A positive polynomial of a sum of two scores, whose sign is known.
polyattn.feature_map @taylor(%x: [8], %y: [4]) {
  %s = concat %x, %y : [8], [4]
  %h = scale %s {factor = 0.5} : [8] + [4]
  %one = constant {value = 1.0, width = 1}
  %p = power 2 %h {symmetric} : [8] + [4]
  %half = scale %p {factor = 0.70710678118654757} : sym 2 ([8] + [4])
  %phi = concat %one, %h, %half : [1], [8] + [4], sym 2 ([8] + [4])
  yield %phi : [1] + ([8] + [4]) + sym 2 ([8] + [4])
}

polyattn.attention @taylor_of_sum(
    %q: tensor<?x?x?x8xf32>, %q2: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x8xf32>,
    %k2: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = apply @taylor(%q, %q2)
    : tensor<?x?x?x8xf32>, tensor<?x?x?x4xf32> -> [1] + ([8] + [4]) + sym 2 ([8] + [4])
  %b = apply @taylor(%k, %k2)
    : tensor<?x?x?x8xf32>, tensor<?x?x?x4xf32> -> [1] + ([8] + [4]) + sym 2 ([8] + [4])
  %values = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %values causal normalize <sum, eps = 1.0e-6>
      {grouping = #polyattn.grouping<block>}
    : [1] + ([8] + [4]) + sym 2 ([8] + [4]), [1] + ([8] + [4]) + sym 2 ([8] + [4]), [16]
  return %o : [16]
}
