// Attends of several masks in one entry.

polyattn.attention @gradients(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x20xf32>,
    %d_o: tensor<?x?x?x20xf32>, %g: tensor<?x?x?xf32>, %w: tensor<12x24xf32>, %t: tensor<24x12xf32>)
    -> (d_q: tensor<?x?x?x12xf32>, d_k: tensor<?x?x?x12xf32>, d_v: tensor<?x?x?x20xf32>) {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %c = read %v : tensor<?x?x?x20xf32> -> [20]
  %d = read %d_o : tensor<?x?x?x20xf32> -> [20]
  %m = read %w : tensor<12x24xf32> -> 12x24
  %n = read %t : tensor<24x12xf32> -> 24x12
  %phi_q = project %a, %m : [12], 12x24
  %phi_k = project %b, %m : [12], 12x24
  %d_phi_q = attend query %d key %c value %phi_k decay %g causal normalize <none>
    : [20], [20], [24], tensor<?x?x?xf32>
  %d_phi_k = attend query %c key %d value %phi_q decay %g anticausal normalize <none>
    : [20], [20], [24], tensor<?x?x?xf32>
  %d_v = attend query %phi_k key %phi_q value %d decay %g anticausal normalize <none>
    : [24], [24], [20], tensor<?x?x?xf32>
  %d_q = project %d_phi_q, %n : [24], 24x12
  %d_k = project %d_phi_k, %n : [24], 24x12
  return %d_q, %d_k, %d_v : [12], [12], [20]
}

// A result that no attend gives, and states of both sides.
polyattn.attention @three_masks(
    %q: tensor<?x?x?x12xf32>, %k: tensor<?x?x?x12xf32>, %v: tensor<?x?x?x8xf32>)
    -> (both: tensor<?x?x?x24xf32>, all: tensor<?x?x?x8xf32>, before: tensor<?x?x?x8xf32>,
        after: tensor<?x?x?x8xf32>, final: tensor<?x?x12x8xf32>, first: tensor<?x?x12x8xf32>) {
  %a = read %q : tensor<?x?x?x12xf32> -> [12]
  %b = read %k : tensor<?x?x?x12xf32> -> [12]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %ea = elu_plus_one %a : [12]
  %eb = elu_plus_one %b : [12]
  %twice = concat %ea, %a : [12], [12]
  %all = attend query %ea key %eb value %c full normalize <sum, eps = 1.0e-6> : [12], [12], [8]
  %before:2 = attend query %a key %b value %c causal normalize <none> {final_state} : [12], [12], [8]
  %after:2 = attend query %a key %b value %c anticausal normalize <none> {final_state}
    : [12], [12], [8]
  return %twice, %all, %before#0, %after#0, %before#1, %after#1
    : [12] + [12], [8], [8], [8], tensor<?x?x12x8xf32>, tensor<?x?x12x8xf32>
}
