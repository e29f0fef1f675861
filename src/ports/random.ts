export interface Random {
  bytes(length: number): Uint8Array
  /** In [0, 1). */
  unit(): number
}
