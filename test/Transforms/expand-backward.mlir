// RUN: polyattn-opt --polyattn-expand-backward %s | FileCheck %s

// The example of the pass's description.
// CHECK-LABEL: polyattn.attention @plain
// CHECK-DAG:     [[A:%.*]] = read %q
// CHECK-DAG:     [[B:%.*]] = read %k
// CHECK-DAG:     [[Z:%.*]] = read %v
// CHECK-DAG:     [[DN:%.*]] = read %d_o
// CHECK:         [[DA:%.*]] = attend query [[DN]] key [[Z]] value [[B]] full normalize <none> {score_scale = 0.5} : [8], [8], [4]
// CHECK:         [[DB:%.*]] = attend query [[Z]] key [[DN]] value [[A]] full normalize <none> {of_keys, score_scale = 0.5} : [8], [8], [4]
// CHECK:         [[DZ:%.*]] = attend query [[B]] key [[A]] value [[DN]] full normalize <none> {of_keys, score_scale = 0.5} : [4], [4], [8]
// CHECK-NOT:     attend_backward
// CHECK:         return [[DA]], [[DB]], [[DZ]]
polyattn.attention @plain(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>,
                          %d_o: tensor<?x?x?x8xf32>)
    -> (d_q: tensor<?x?x?x4xf32>, d_k: tensor<?x?x?x4xf32>, d_v: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %z = read %v : tensor<?x?x?x8xf32> -> [8]
  %dn = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %da, %db, %dz = attend_backward query %a leaves (%a) key %b leaves (%b) value %z gradient %dn full
      {score_scale = 0.5} : [4], [4], [4], [4], [8], [8]
  return %da, %db, %dz : [4], [4], [8]
}

// The denominator is one more element; the features of a concatenation are those of its parts; what
// nobody uses is not computed.
// CHECK-LABEL: polyattn.attention @side_by_side
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[DN:%.*]] = read %d_o
// CHECK:         [[SUM:%.*]] = sum [[DN]]
// CHECK:         [[E:%.*]] = exp [[X]]
// CHECK:         [[C:%.*]] = concat [[X]], [[E]]
// CHECK-DAG:     [[ONE:%.*]] = constant {value = 1.0
// CHECK-DAG:     [[DNZ:%.*]] = concat [[DN]], [[SUM]]
// CHECK-DAG:     [[V1:%.*]] = concat [[X]], [[ONE]]
// CHECK:         [[G:%.*]] = attend query [[V1]] key [[DNZ]] value [[C]] full normalize <none> {of_keys} : [4] + [1], [4] + [1], [4] + [4]
// CHECK:         [[DX:%.*]] = select [[G]] {indices = array<i64: 0, 1, 2, 3>}
// CHECK:         [[DE:%.*]] = select [[G]] {indices = array<i64: 4, 5, 6, 7>}
// CHECK-NOT:     attend query
// CHECK:         return [[DX]], [[DE]]
polyattn.attention @side_by_side(%q: tensor<?x?x?x4xf32>, %d_o: tensor<?x?x?x4xf32>)
    -> (d_x: tensor<?x?x?x4xf32>, d_e: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %dn = read %d_o : tensor<?x?x?x4xf32> -> [4]
  %dz = sum %dn : [4]
  %e = exp %x : [4]
  %c = concat %x, %e : [4], [4]
  %r:5 = attend_backward query %c leaves (%x, %e) key %c leaves (%x, %e) value %x gradient %dn, %dz full
    : [4] + [4], [4], [4], [4] + [4], [4], [4], [4], [4], [1]
  return %r#2, %r#3 : [4], [4]
}

// Keys see their queries from behind, with the same decays.
// CHECK-LABEL: polyattn.attention @causal
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[Y:%.*]] = read %k
// CHECK:         [[DQ:%.*]] = attend query [[Y]] key [[Y]] value [[X]] decay %g causal normalize <none>
// CHECK:         [[DK:%.*]] = attend query [[Y]] key [[Y]] value [[X]] decay %g anticausal normalize <none>
// CHECK:         [[DV:%.*]] = attend query [[X]] key [[X]] value [[Y]] decay %g anticausal normalize <none>
// CHECK:         return [[DQ]], [[DK]], [[DV]]
polyattn.attention @causal(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_q: tensor<?x?x?x4xf32>, d_k: tensor<?x?x?x4xf32>, d_v: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %y gradient %y decay %g causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  return %b#0, %b#1, %b#2 : [4], [4], [4]
}

// A product's leaves get their gradients from pairs weighted by the slope of the score, 2 <x, y>.
// CHECK-LABEL: polyattn.attention @power
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[Y:%.*]] = read %k
// CHECK:         [[XX:%.*]] = power {{[0-9]+}} [[X]]
// CHECK:         [[YY:%.*]] = power {{[0-9]+}} [[Y]]
// CHECK:         [[RX:%.*]] = tensor [[X]], [[Y]]
// CHECK:         [[ROWS:%.*]] = scale [[RX]] {factor = 2.0
// CHECK:         [[COLUMNS:%.*]] = tensor [[Y]], [[X]]
// CHECK:         [[DX:%.*]] = attend query [[ROWS]] key [[COLUMNS]] value [[Y]] causal normalize <none> : [4] x [4], [4] x [4], [4]
// CHECK:         [[DY:%.*]] = attend query [[COLUMNS]] key [[ROWS]] value [[X]] anticausal normalize <none>
// CHECK:         [[DZ:%.*]] = attend query [[YY]] key [[XX]] value [[Y]] anticausal normalize <none> : sym 2 [4], sym 2 [4], [4]
// CHECK:         return [[DX]], [[DY]], [[DZ]]
polyattn.attention @power(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>)
    -> (d_x: tensor<?x?x?x4xf32>, d_y: tensor<?x?x?x4xf32>, d_z: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %xx = power 2 %x {symmetric} : [4]
  %yy = power 2 %y {symmetric} : [4]
  %r:3 = attend_backward query %xx leaves (%x) key %yy leaves (%y) value %x gradient %y causal
    : sym 2 [4], [4], sym 2 [4], [4], [4], [4]
  return %r#0, %r#1, %r#2 : [4], [4], [4]
}

// Pairs of one block have attends of their own, in which all others have the score 0.
// CHECK-LABEL: polyattn.attention @local
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[E:%.*]] = exp [[X]]
// CHECK:         [[ZERO:%.*]] = constant {value = 0.0
// CHECK:         [[FAR:%.*]] = attend query [[X]] key [[X]] value [[E]] local [[ZERO]], [[ZERO]] causal normalize <none> {block = 16} : [4], [4], [4], [1], [1]
// CHECK:         [[NONE:%.*]] = constant {value = 0.0
// CHECK:         [[NEAR:%.*]] = attend query [[NONE]] key [[NONE]] value [[X]] local [[X]], [[X]] causal normalize <none> {block = 16} : [1], [1], [4], [4], [4]
// CHECK:         [[DV:%.*]] = attend query [[E]] key [[E]] value [[X]] local [[X]], [[X]] anticausal normalize <none> {block = 16} : [4], [4], [4], [4], [4]
// CHECK:         return [[FAR]], [[NEAR]], [[DV]]
polyattn.attention @local(%q: tensor<?x?x?x4xf32>)
    -> (d_e: tensor<?x?x?x4xf32>, d_x: tensor<?x?x?x4xf32>, d_v: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %e = exp %x : [4]
  %r:5 = attend_backward query %e leaves (%e) key %e leaves (%e) value %x
      local_query %x leaves (%x) local_key %x leaves (%x) gradient %x causal {block = 16}
    : [4], [4], [4], [4], [4], [4], [4], [4], [4], [4]
  return %r#0, %r#2, %r#4 : [4], [4], [4]
}

// Where query heads share keys, gradients of keys are sums over them.
// CHECK-LABEL: polyattn.attention @grouped
// CHECK:         [[DA:%.*]] = attend query {{.*}} causal normalize <none> {grouping = interleaved}
// CHECK:         [[DB:%.*]] = attend query {{.*}} anticausal normalize <none> {grouping = interleaved, of_keys}
// CHECK:         [[DZ:%.*]] = attend query {{.*}} anticausal normalize <none> {grouping = interleaved, of_keys}
// CHECK:         return [[DA]], [[DB]], [[DZ]]
polyattn.attention @grouped(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>,
                            %d_o: tensor<?x?x?x8xf32>)
    -> (d_q: tensor<?x?x?x4xf32>, d_k: tensor<?x?x?x4xf32>, d_v: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %b = read %k : tensor<?x?x?x4xf32> -> [4]
  %z = read %v : tensor<?x?x?x8xf32> -> [8]
  %dn = read %d_o : tensor<?x?x?x8xf32> -> [8]
  %da, %db, %dz = attend_backward query %a leaves (%a) key %b leaves (%b) value %z gradient %dn causal
      {grouping = #polyattn.grouping<interleaved>} : [4], [4], [4], [4], [8], [8]
  return %da, %db, %dz : [4], [4], [8]
}

// Decays take the sums of both sides, of the pairs of two positions.
// CHECK-LABEL: polyattn.attention @decay
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[Y:%.*]] = read %k
// CHECK:         [[ROWS:%.*]] = concat [[Y]], {{%.*}} : [4], [1]
// CHECK:         [[COLUMNS:%.*]] = concat [[Y]], {{%.*}} : [4], [1]
// CHECK:         [[DV:%.*]], [[KEYS:%.*]] = attend query [[X]] key [[X]] value [[ROWS]] decay %g products [[COLUMNS]] anticausal normalize <none> {gate_heads = q, grouping = block, of_keys}
// CHECK:         [[OF_V:%.*]] = select [[DV]] {indices = array<i64: 0, 1, 2, 3>}
// CHECK:         {{%.*}}, [[QUERIES:%.*]] = attend query [[X]] key [[X]] value [[COLUMNS]] decay %g products [[ROWS]] causal normalize <none>
// CHECK:         [[DG:%.*]] = decay_gradient %g queries [[QUERIES]] keys [[KEYS]] {gate_heads = q, grouping = block} : tensor<?x?x?xf32>, [1], [1]
// CHECK:         return [[OF_V]], [[DG]]
polyattn.attention @decay(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_v: tensor<?x?x?x4xf32>, d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %z = sum %y : [4]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %y gradient %y, %z decay %g causal
      {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}
    : [4], [4], [4], [4], [4], [4], [1], tensor<?x?x?xf32>
  return %b#2, %b#3 : [4], tensor<?x?x?xf32>
}

// What begins with a state has it before the first key: its gradient is asked for.
// CHECK-LABEL: polyattn.attention @state_decay
// CHECK:         {{%.*}}, [[DS:%.*]]:2 = attend {{.*}} decay %g initial %ds products {{%.*}} anticausal normalize <none> {final_state}
// CHECK:         {{%.*}}, [[QUERIES:%.*]] = attend {{.*}} decay %g initial %s products {{%.*}} causal normalize <none> :
// CHECK:         [[DG:%.*]] = decay_gradient %g queries [[QUERIES]] keys [[DS]]#1 states %s gradients [[DS]]#0 : tensor<?xf32>, [1], [1], tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
polyattn.attention @state_decay(%q: tensor<?x?x?x4xf32>, %g: tensor<?xf32>,
    %s: tensor<?x?x4x4xf32>, %ds: tensor<?x?x4x4xf32>) -> (d_g: tensor<?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %b:5 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g
      initial %s final_gradient %ds causal
    : [4], [4], [4], [4], [4], [4], tensor<?xf32>, tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>
  return %b#3 : tensor<?xf32>
}

// Where features are those of the leaves, their gradients have the sums of queries, too.
// CHECK-LABEL: polyattn.attention @decay_of_features
// CHECK:         [[X:%.*]] = read %q
// CHECK:         [[DQ:%.*]], [[QUERIES:%.*]] = attend {{.*}} value [[X]] decay %g products [[X]] causal normalize <none>
// CHECK-NEXT:    {{%.*}}, [[KEYS:%.*]] = attend {{.*}} decay %g products [[X]] anticausal normalize <none>
// CHECK-NEXT:    [[DG:%.*]] = decay_gradient %g queries [[QUERIES]] keys [[KEYS]] : tensor<?x?x?xf32>, [1], [1]
// CHECK:         return [[DQ]], [[DG]]
polyattn.attention @decay_of_features(%q: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_q: tensor<?x?x?x4xf32>, d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %x gradient %x decay %g causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  return %b#0, %b#3 : [4], tensor<?x?x?xf32>
}

// A decay of several attends: one gradient, of the products of all, with the causal ones and the anticausal ones on their sides.
// CHECK-LABEL: polyattn.attention @shared_decay
// CHECK-DAG:     {{%.*}}, [[Q0:%.*]] = attend {{.*}} decay %g {{.*}}products {{%.*}} causal
// CHECK-DAG:     {{%.*}}, [[K0:%.*]] = attend {{.*}} decay %g {{.*}}products {{%.*}} anticausal
// CHECK:         [[DG:%.*]] = decay_gradient %g queries {{%.*}}, {{%.*}} keys {{%.*}}, {{%.*}} : tensor<?x?x?xf32>, [1], [1], [1], [1]
// CHECK-NOT:     add_gradients
// CHECK:         return [[DG]]
polyattn.attention @shared_decay(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>)
    -> (d_g: tensor<?x?x?xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %k : tensor<?x?x?x4xf32> -> [4]
  %b:4 = attend_backward query %x leaves (%x) key %y leaves (%y) value %y gradient %y decay %g causal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  %c:4 = attend_backward query %y leaves (%y) key %x leaves (%x) value %x gradient %y decay %g anticausal
    : [4], [4], [4], [4], [4], [4], tensor<?x?x?xf32>
  %dg = add_gradients %b#3, %c#3 : tensor<?x?x?xf32>
  return %dg : tensor<?x?x?xf32>
}

// A state of several attends: the sum of the final states of their sweeps, which have a last dimension even where the state has none.
// CHECK-LABEL: polyattn.attention @shared_state
// CHECK-DAG:     {{%.*}}, [[S0:%.*]] = attend {{.*}} anticausal normalize <none> {final_state}
// CHECK-DAG:     {{%.*}}, [[S1:%.*]] = attend query {{%[0-9]+}} key {{%[0-9]+}} value {{%[0-9]+}} causal normalize <none> {final_state}
// CHECK:         [[DS:%.*]] = add_gradients [[S0]], [[S1]] : tensor<?x?x4x1xf32>
// CHECK:         return [[DS]]
polyattn.attention @shared_state(%q: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x1xf32>, %s: tensor<?x?x4xf32>)
    -> (d_s: tensor<?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %y = read %v : tensor<?x?x?x1xf32> -> [1]
  %b:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %y gradient %y initial %s causal
    : [4], [4], [4], [4], [1], [1], tensor<?x?x4xf32>
  %c:4 = attend_backward query %x leaves (%x) key %x leaves (%x) value %y gradient %y initial %s anticausal
    : [4], [4], [4], [4], [1], [1], tensor<?x?x4xf32>
  %ds = add_gradients %b#3, %c#3 : tensor<?x?x4xf32>
  return %ds : tensor<?x?x4xf32>
}
