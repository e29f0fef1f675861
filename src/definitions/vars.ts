// Checks the names of `vars` over all documents: each is defined once, and each that is read is defined.

import { applyVarSettings, type DefinitionDocument, OWN_VARS } from '../core/definitions/documents/index.ts'
import { closest } from '../core/foundation/text/index.ts'
import type { CompileDeps } from './compile-deps.ts'
import { valuesWritten } from './fill-vars.ts'
import type { Finding, Remark } from './finding.ts'
import { namesWritten } from './kinds/vars.ts'
import type { ReadDocument } from './read.ts'
import { readVars, varsReadBy } from './vars-read.ts'
import type { Fields } from './written.ts'

/** Defined names, each with where: valid or not in the files, and deployed beside them. */
export interface KnownVars {
  readonly names: ReadonlySet<string>
  /** Of deployed documents that the files do not have, with the document's name. */
  readonly deployed: ReadonlyMap<string, string>
  /** The first place in the files: documents are checked in their order. */
  readonly first: Map<string, Finding>
}

export function knownVars(
  values: readonly Fields[],
  deployedDocuments: readonly DefinitionDocument[] = [],
): KnownVars {
  const written = values.filter(({ kind }) => kind === 'Vars')
  const taken = new Set(written.map(({ name }) => name))
  const deployed = new Map<string, string>()
  for (const document of deployedDocuments) {
    if (document.kind !== 'Vars' || taken.has(document.name)) continue
    for (const { name } of namesWritten(document as unknown as Fields)) deployed.set(name, document.name)
  }
  const names = [...written.flatMap((one) => namesWritten(one).map(({ name }) => name)), ...deployed.keys()]
  return { names: new Set([...names, ...OWN_VARS]), deployed, first: new Map() }
}

export function checkVars(document: ReadDocument, known: KnownVars): readonly Remark[] {
  return document.value.kind === 'Vars' ? checkDefined(document, known) : checkRead(document.value, known)
}

function checkDefined(document: ReadDocument, { deployed, first }: KnownVars): readonly Remark[] {
  const own = new Map(
    namesWritten(document.value)
      .toReversed()
      .map(({ name, path }) => [name, path]),
  )
  return [...own].toReversed().flatMap(([name, path]): readonly Remark[] => {
    const elsewhere = deployed.get(name)
    const earlier = first.get(name)
    const remark = (where: string): Remark => ({
      rule: 'duplicate',
      message: `\`vars.${name}\` is defined already, ${where}: rename one, names are flat over all documents`,
      path,
      onKey: true,
    })
    if (earlier !== undefined) return [remark(`at ${earlier.file}:${earlier.line}:${earlier.column}`)]
    const here = document.locate(remark(''))
    if (here !== null) first.set(name, here)
    return elsewhere === undefined ? [] : [remark(`by the deployed Vars \`${elsewhere}\``)]
  })
}

/** A setting of the node that does not fit what is defined here. */
export function checkVarSettings(
  document: ReadDocument,
  { varSettings = {}, environment = 'DEV' }: Pick<CompileDeps, 'varSettings' | 'environment'>,
): readonly Remark[] {
  if (document.value.kind !== 'Vars' || Object.keys(varSettings).length === 0) return []
  const values = valuesWritten(document.value, environment)
  return applyVarSettings(values, varSettings).problems.flatMap(
    ({ setting, name, message }): readonly Remark[] => {
      if (name === null) return []
      const place = namesWritten(document.value).find((one) => one.name === name)
      return [
        {
          rule: 'varSetting',
          message: `\`${setting}\` cannot be used: ${message}`,
          path: place?.path ?? ['name'],
        },
      ]
    },
  )
}

function checkRead(value: Fields, { names }: KnownVars): readonly Remark[] {
  return readVars(value).flatMap(({ name, ...place }): readonly Remark[] => {
    if (names.has(name)) return []
    const near = closest(name, [...names])
    const hint =
      near === undefined ? 'define it in a document of `kind: Vars`' : `did you mean \`vars.${near}\`?`
    return [{ rule: 'unknownVar', message: `there is no \`vars.${name}\`: ${hint}`, ...place }]
  })
}

/** A document of the files that no longer defines what a deployed one beside them reads. */
export function reportLostVars(
  written: readonly { readonly document: DefinitionDocument; report(remark: Remark): void }[],
  beside: readonly DefinitionDocument[],
  deployedDocuments: readonly DefinitionDocument[],
  { names }: KnownVars,
): void {
  for (const { document, report } of written) {
    const before = deployedDocuments.find(({ kind, name }) => kind === 'Vars' && name === document.name)
    if (document.kind !== 'Vars' || before === undefined) continue
    const lost = new Set(namesWritten(before as unknown as Fields).map(({ name }) => name))
    for (const reader of lost.size === 0 ? [] : beside) {
      const name = varsReadBy(reader).find((one) => lost.has(one) && !names.has(one))
      if (name === undefined) continue
      const message = `\`vars.${name}\` is gone from here, and the deployed ${reader.kind} \`${reader.name}\` reads it: keep it, or change that first`
      report({ rule: 'unknownVar', message, path: ['name'] })
    }
  }
}
