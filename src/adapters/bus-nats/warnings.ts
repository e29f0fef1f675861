// Warnings for operators, one sentence per matter: a later one of the same matter replaces it, and null removes it.

const COUNT_MAX = 50

export interface Warnings {
  set(matter: string, sentence: string | null): void
  list(): readonly string[]
}

export function makeWarnings(onChange: () => void): Warnings {
  const byMatter = new Map<string, string>()
  return {
    set(matter, sentence) {
      if ((byMatter.get(matter) ?? null) === sentence) return
      if (sentence === null) byMatter.delete(matter)
      else if (byMatter.has(matter) || byMatter.size < COUNT_MAX) byMatter.set(matter, sentence)
      else return
      onChange()
    },
    list: () => [...byMatter.values()],
  }
}
