// Distinguishes the id of a bulk replay from the other keys of its records.

export function isReplayId(text: string): boolean {
  return /^rpl_[0-9a-f]{24}$/.test(text)
}
