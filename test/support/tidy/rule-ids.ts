// Ties the rules of docs/spec to tests, both ways. A rule is a line of docs/spec/*.md that starts with its bold id (a
// list dash may come before it): `**D2** after 'delivered' nothing changes`. A test quotes it in brackets: `'[D2] a
// dead delivery ignores late results'`. Pure: texts in, findings out.
import { type Finding, isTestCode } from './bans.ts'
import { everyString, lineAt, parseSource, type TextFile, testNames } from './source.ts'

interface Rule {
  readonly id: string
  readonly path: string
  readonly line: number
}

const definition = /^(?:[-*] +)?\*\*([A-Z]+\d+)\*\*/
const quotation = /\[([A-Z]+\d+)\]/g
const leadingQuotations = /^(?:\[[A-Z]+\d+\] ?)+/

const quotedIn = (text: string): readonly string[] =>
  [...text.matchAll(quotation)].map((match) => match[1] ?? '')

function rulesOf(docs: readonly TextFile[]): readonly Rule[] {
  return docs.flatMap(({ path, text }) =>
    text.split('\n').flatMap((content, index) => {
      const id = definition.exec(content)?.[1]
      return id === undefined ? [] : [{ id, path, line: index + 1 }]
    }),
  )
}

/** Without any rule in the documents there is nothing to tie, and test names are free. */
export function findLooseRules(docs: readonly TextFile[], files: readonly TextFile[]): readonly Finding[] {
  const rules = rulesOf(docs)
  if (rules.length === 0) return []
  const known = new Map<string, Rule>()
  const findings: Finding[] = []
  for (const rule of rules) {
    const first = known.get(rule.id)
    if (first === undefined) known.set(rule.id, rule)
    else
      findings.push({
        ...rule,
        rule: `${rule.id} is already a rule at ${first.path}:${first.line}.`,
        fix: 'give it the next free number; ids are never used twice.',
      })
  }

  const tested = new Set<string>()
  for (const file of files) {
    if (!isTestCode(file.path) || quotedIn(file.text).length === 0) continue
    const source = parseSource(file)
    // Names in tables count as well, but only if the id comes first: payloads have brackets too.
    for (const { text } of everyString(source)) {
      for (const id of quotedIn(leadingQuotations.exec(text)?.[0] ?? '')) tested.add(id)
    }
    for (const { position, text } of testNames(source)) {
      for (const id of quotedIn(text)) {
        tested.add(id)
        if (known.has(id)) continue
        findings.push({
          path: source.path,
          line: lineAt(source, position),
          rule: `The test quotes ${id}, which no document in docs/spec defines.`,
          fix: `write the rule down as **${id}** at the start of a line, or correct the id.`,
        })
      }
    }
  }

  for (const rule of known.values()) {
    if (tested.has(rule.id)) continue
    findings.push({
      path: rule.path,
      line: rule.line,
      rule: `No test quotes ${rule.id}.`,
      fix: `name the test that checks it '[${rule.id}] …', or remove the rule.`,
    })
  }
  return findings
}
