// Gradients of attends as attends with swapped roles: values are feature vectors, and results are as
// wide as those. For linear attention (elu + 1) with a decay and states, whose features are not zero
// where keys are, and for LLoPS of several widths.

polyattn.feature_map @llops_24(%x: [12], %w1: 12x24, %w2: 12x24) {
  %a = project %x, %w1 : [12], 12x24
  %b = project %x, %w2 : [12], 12x24
  %phi = hadamard %a, %b : [24], [24]
  yield %phi : [24]
}

polyattn.feature_map @llops_256(%x: [64], %w1: 64x256, %w2: 64x256) {
  %a = project %x, %w1 : [64], 64x256
  %b = project %x, %w2 : [64], 64x256
  %phi = hadamard %a, %b : [256], [256]
  yield %phi : [256]
}

polyattn.feature_map @llops_1024(%x: [64], %w1: 64x1024, %w2: 64x1024) {
  %a = project %x, %w1 : [64], 64x1024
  %b = project %x, %w2 : [64], 64x1024
  %phi = hadamard %a, %b : [1024], [1024]
  yield %phi : [1024]
}

polyattn.attention @key_linear(
    %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x20xf32>, %q: tensor<?x?x?x12xf32>,
    %d_o: tensor<?x?x?x20xf32>, %g: tensor<?x?x?xf32>, %d_final: tensor<?x?x20x12xf32>)
    -> (d_k: tensor<?x?x?x12xf32>, d_initial: tensor<?x?x20x12xf32>) {
  %x = read %k : tensor<?x?x?x12xf32> -> [12]
  %y = read %q : tensor<?x?x?x12xf32> -> [12]
  %phi_q = elu_plus_one %y : [12]
  %dn = read %d_o : tensor<?x?x?x20xf32> -> [20]
  %values = read %v : tensor<?x?x?x20xf32> -> [20]
  %d_phi:2 = attend query %values key %dn value %phi_q decay %g initial %d_final
      anticausal normalize <none> {final_state, grouping = #polyattn.grouping<block>}
    : [20], [20], [12], tensor<?x?x?xf32>, tensor<?x?x20x12xf32>
  %slope = tanh %x : [12]
  %d_k = hadamard %d_phi#0, %slope : [12], [12]
  return %d_k, %d_phi#1 : [12], tensor<?x?x20x12xf32>
}

polyattn.attention @query_24(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x20xf32>, %d_o: tensor<?x?x?x20xf32>, %w1: tensor<12x24xf32>, %w2: tensor<12x24xf32>, %t1: tensor<24x12xf32>, %t2: tensor<24x12xf32>)
    -> (d_q: tensor<?x?x?x12xf32>) {
  %phi_k = apply @llops_24(%k, %w1, %w2) : tensor<?x?x?x12xf32>, tensor<12x24xf32>, tensor<12x24xf32> -> [24]
  %dn = read %d_o : tensor<?x?x?x20xf32> -> [20]
  %values = read %v : tensor<?x?x?x20xf32> -> [20]
  %d_phi = attend query %dn key %values value %phi_k causal normalize <none>
      {grouping = #polyattn.grouping<block>} : [20], [20], [24]
  %x = read %q : tensor<?x?x?x12xf32> -> [12]
  %m1 = read %w1 : tensor<12x24xf32> -> 12x24
  %m2 = read %w2 : tensor<12x24xf32> -> 12x24
  %n1 = read %t1 : tensor<24x12xf32> -> 24x12
  %n2 = read %t2 : tensor<24x12xf32> -> 24x12
  %a = project %x, %m1 : [12], 12x24
  %b = project %x, %m2 : [12], 12x24
  %da = hadamard %d_phi, %b : [24], [24]
  %db = hadamard %d_phi, %a : [24], [24]
  %xa = project %da, %n1 : [24], 24x12
  %xb = project %db, %n2 : [24], 24x12
  %dx = add %xa, %xb : [12], [12]
  return %dx : [12]
}

polyattn.attention @key_24(
    %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x20xf32>, %q: tensor<?x?x?x12xf32>, %d_o: tensor<?x?x?x20xf32>, %w1: tensor<12x24xf32>, %w2: tensor<12x24xf32>, %t1: tensor<24x12xf32>, %t2: tensor<24x12xf32>)
    -> (d_k: tensor<?x?x?x12xf32>, d_v: tensor<?x?x?x20xf32>) {
  %x = read %k : tensor<?x?x?x12xf32> -> [12]
  %m1 = read %w1 : tensor<12x24xf32> -> 12x24
  %m2 = read %w2 : tensor<12x24xf32> -> 12x24
  %n1 = read %t1 : tensor<24x12xf32> -> 24x12
  %n2 = read %t2 : tensor<24x12xf32> -> 24x12
  %a = project %x, %m1 : [12], 12x24
  %b = project %x, %m2 : [12], 12x24
  %phi_k = hadamard %a, %b : [24], [24]
  %phi_q = apply @llops_24(%q, %w1, %w2) : tensor<?x?x?x12xf32>, tensor<12x24xf32>, tensor<12x24xf32> -> [24]
  %dn = read %d_o : tensor<?x?x?x20xf32> -> [20]
  %values = read %v : tensor<?x?x?x20xf32> -> [20]
  %d_v = attend query %phi_k key %phi_q value %dn anticausal normalize <none>
      {grouping = #polyattn.grouping<block>} : [24], [24], [20]
  %d_phi = attend query %values key %dn value %phi_q anticausal normalize <none>
      {grouping = #polyattn.grouping<block>} : [20], [20], [24]
  %da = hadamard %d_phi, %b : [24], [24]
  %db = hadamard %d_phi, %a : [24], [24]
  %xa = project %da, %n1 : [24], 24x12
  %xb = project %db, %n2 : [24], 24x12
  %dx = add %xa, %xb : [12], [12]
  return %dx, %d_v : [12], [20]
}

polyattn.attention @query_256(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>, %d_o: tensor<?x?x?x64xf32>, %w1: tensor<64x256xf32>, %w2: tensor<64x256xf32>, %t1: tensor<256x64xf32>, %t2: tensor<256x64xf32>)
    -> (d_q: tensor<?x?x?x64xf32>) {
  %phi_k = apply @llops_256(%k, %w1, %w2) : tensor<?x?x?x64xf32>, tensor<64x256xf32>, tensor<64x256xf32> -> [256]
  %dn = read %d_o : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %d_phi = attend query %dn key %values value %phi_k causal normalize <none>
      {grouping = #polyattn.grouping<block>} : [64], [64], [256]
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %m1 = read %w1 : tensor<64x256xf32> -> 64x256
  %m2 = read %w2 : tensor<64x256xf32> -> 64x256
  %n1 = read %t1 : tensor<256x64xf32> -> 256x64
  %n2 = read %t2 : tensor<256x64xf32> -> 256x64
  %a = project %x, %m1 : [64], 64x256
  %b = project %x, %m2 : [64], 64x256
  %da = hadamard %d_phi, %b : [256], [256]
  %db = hadamard %d_phi, %a : [256], [256]
  %xa = project %da, %n1 : [256], 256x64
  %xb = project %db, %n2 : [256], 256x64
  %dx = add %xa, %xb : [64], [64]
  return %dx : [64]
}

polyattn.attention @key_256(
    %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>, %q: tensor<?x?x?x64xf32>, %d_o: tensor<?x?x?x64xf32>, %w1: tensor<64x256xf32>, %w2: tensor<64x256xf32>, %t1: tensor<256x64xf32>, %t2: tensor<256x64xf32>)
    -> (d_k: tensor<?x?x?x64xf32>, d_v: tensor<?x?x?x64xf32>) {
  %x = read %k : tensor<?x?x?x64xf32> -> [64]
  %m1 = read %w1 : tensor<64x256xf32> -> 64x256
  %m2 = read %w2 : tensor<64x256xf32> -> 64x256
  %n1 = read %t1 : tensor<256x64xf32> -> 256x64
  %n2 = read %t2 : tensor<256x64xf32> -> 256x64
  %a = project %x, %m1 : [64], 64x256
  %b = project %x, %m2 : [64], 64x256
  %phi_k = hadamard %a, %b : [256], [256]
  %phi_q = apply @llops_256(%q, %w1, %w2) : tensor<?x?x?x64xf32>, tensor<64x256xf32>, tensor<64x256xf32> -> [256]
  %dn = read %d_o : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %d_v = attend query %phi_k key %phi_q value %dn anticausal normalize <none>
      {grouping = #polyattn.grouping<block>} : [256], [256], [64]
  %d_phi = attend query %values key %dn value %phi_q anticausal normalize <none>
      {grouping = #polyattn.grouping<block>} : [64], [64], [256]
  %da = hadamard %d_phi, %b : [256], [256]
  %db = hadamard %d_phi, %a : [256], [256]
  %xa = project %da, %n1 : [256], 256x64
  %xb = project %db, %n2 : [256], 256x64
  %dx = add %xa, %xb : [64], [64]
  return %dx, %d_v : [64], [64]
}

polyattn.attention @query_1024(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>, %d_o: tensor<?x?x?x64xf32>, %w1: tensor<64x1024xf32>, %w2: tensor<64x1024xf32>, %t1: tensor<1024x64xf32>, %t2: tensor<1024x64xf32>)
    -> (d_q: tensor<?x?x?x64xf32>) {
  %phi_k = apply @llops_1024(%k, %w1, %w2) : tensor<?x?x?x64xf32>, tensor<64x1024xf32>, tensor<64x1024xf32> -> [1024]
  %dn = read %d_o : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %d_phi = attend query %dn key %values value %phi_k causal normalize <none>
      {grouping = #polyattn.grouping<block>} : [64], [64], [1024]
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %m1 = read %w1 : tensor<64x1024xf32> -> 64x1024
  %m2 = read %w2 : tensor<64x1024xf32> -> 64x1024
  %n1 = read %t1 : tensor<1024x64xf32> -> 1024x64
  %n2 = read %t2 : tensor<1024x64xf32> -> 1024x64
  %a = project %x, %m1 : [64], 64x1024
  %b = project %x, %m2 : [64], 64x1024
  %da = hadamard %d_phi, %b : [1024], [1024]
  %db = hadamard %d_phi, %a : [1024], [1024]
  %xa = project %da, %n1 : [1024], 1024x64
  %xb = project %db, %n2 : [1024], 1024x64
  %dx = add %xa, %xb : [64], [64]
  return %dx : [64]
}

polyattn.attention @key_1024(
    %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>, %q: tensor<?x?x?x64xf32>, %d_o: tensor<?x?x?x64xf32>, %w1: tensor<64x1024xf32>, %w2: tensor<64x1024xf32>, %t1: tensor<1024x64xf32>, %t2: tensor<1024x64xf32>)
    -> (d_k: tensor<?x?x?x64xf32>, d_v: tensor<?x?x?x64xf32>) {
  %x = read %k : tensor<?x?x?x64xf32> -> [64]
  %m1 = read %w1 : tensor<64x1024xf32> -> 64x1024
  %m2 = read %w2 : tensor<64x1024xf32> -> 64x1024
  %n1 = read %t1 : tensor<1024x64xf32> -> 1024x64
  %n2 = read %t2 : tensor<1024x64xf32> -> 1024x64
  %a = project %x, %m1 : [64], 64x1024
  %b = project %x, %m2 : [64], 64x1024
  %phi_k = hadamard %a, %b : [1024], [1024]
  %phi_q = apply @llops_1024(%q, %w1, %w2) : tensor<?x?x?x64xf32>, tensor<64x1024xf32>, tensor<64x1024xf32> -> [1024]
  %dn = read %d_o : tensor<?x?x?x64xf32> -> [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %d_v = attend query %phi_k key %phi_q value %dn anticausal normalize <none>
      {grouping = #polyattn.grouping<block>} : [1024], [1024], [64]
  %d_phi = attend query %values key %dn value %phi_q anticausal normalize <none>
      {grouping = #polyattn.grouping<block>} : [64], [64], [1024]
  %da = hadamard %d_phi, %b : [1024], [1024]
  %db = hadamard %d_phi, %a : [1024], [1024]
  %xa = project %da, %n1 : [1024], 1024x64
  %xb = project %db, %n2 : [1024], 1024x64
  %dx = add %xa, %xb : [64], [64]
  return %dx, %d_v : [64], [64]
}
