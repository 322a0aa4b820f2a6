//! Chunked canonical Huffman with an escape list (Section IV, entropy stage).
