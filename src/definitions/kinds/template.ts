// A document to start from, of any kind.

import { documentNameFault } from '../fields.ts'
import { declarationOf, KIND_NAMES } from './index.ts'

export type MadeTemplate =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly why: string }

/** `kind` in any case. */
export function makeTemplate(kind: string, name: string): MadeTemplate {
  const found = KIND_NAMES.find((one) => one.toLowerCase() === kind.toLowerCase())
  if (found === undefined) return { ok: false, why: `there is no kind \`${kind}\`` }
  const fault = documentNameFault(name)
  if (fault !== null) return { ok: false, why: `\`${name}\`: ${fault}` }
  const { summary, template } = declarationOf(found)
  return { ok: true, text: `# ${summary}\n${template.replaceAll('NAME', name)}` }
}
