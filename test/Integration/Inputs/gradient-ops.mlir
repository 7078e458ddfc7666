// Ops that gradients are made of, where their results decide: as features.
polyattn.feature_map @phi(%x: [10], %w: 12x10, %freqs: 5) {
  %p = project %x, %w {transposed} : [10], 12x10
  %turned = rope %x, %freqs {layout = #polyattn.rope_layout<interleaved>, dims = 10, offset = 1.0,
                             scale = 1.0} : [10], 5
  %back = rope %turned, %freqs {layout = #polyattn.rope_layout<deinterleave>, dims = 10, inverse,
                                offset = 0.0, scale = 1.0} : [10], 5
  %scattered = scatter %back {indices = array<i64: 3, 0, 11, 3, 5, 3, 0, 7, 8, 10>, width = 12} : [10]
  %slope = gelu_slope %p {form = #polyattn.gelu_form<erf>} : [12]
  %slope2 = gelu_slope %p {form = #polyattn.gelu_form<tanh>} : [12]
  %sum = sum %p : [12]
  %above = is_above %p {value = 0.25} : [12]
  %sign = sign %p : [12]
  %largest = first_max %x : [10]
  %positive = softplus %x : [10]
  %log = log %positive : [10]
  %y = add %slope, %slope2, %scattered, %sum, %above, %sign : [12], [12], [12], [1], [12], [12]
  %both = concat %y, %largest, %log : [12], [10], [10]
  %phi = tanh %both : [12] + [10] + [10]
  yield %phi : [32]
}

polyattn.attention @gradient_ops(%q: tensor<?x?x?x10xf32>, %k: tensor<?x?x?x10xf32>,
                                 %v: tensor<?x?x?x9xf32>, %w: tensor<12x10xf32>,
                                 %w_k: tensor<?x12x10xf32>, %freqs: tensor<5xf32>)
    -> (o: tensor<?x?x?x9xf32>) {
  %a = apply @phi(%q, %w, %freqs)
    : tensor<?x?x?x10xf32>, tensor<12x10xf32>, tensor<5xf32> -> [32]
  %b = apply @phi(%k, %w_k, %freqs)
    : tensor<?x?x?x10xf32>, tensor<?x12x10xf32>, tensor<5xf32> -> [32]
  %c = read %v : tensor<?x?x?x9xf32> -> [9]
  %o = attend query %a key %b value %c causal normalize <none>
      {grouping = #polyattn.grouping<block>} : [32], [32], [9]
  return %o : [9]
}
