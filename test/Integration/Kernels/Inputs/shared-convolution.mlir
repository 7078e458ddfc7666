polyattn.attention @convolution(x: shared_seq[4], h: weight[9, 4]) -> (o) {
  return convolve(x, h)
}
