polyattn.attention @convolution(x: shared_seq[4], g: seq[4], h: weight[9, 4]) -> (o) {
  return g * convolve(x, h)
}
