import { expect, test } from 'vitest'
import { compileDefinitions } from '../../../definitions/language.ts'
import { codeHashesOf } from './index.ts'

const WORKFLOW = `
kind: Workflow
name: order
start: new
triggers: [{ manual: {} }]
places: { new: {}, checked: { onEnter: { function: greet } }, done: { final: true }, undoing: {}, failed: { type: error } }
onFailure: { undo: done-steps, through: undoing, to: failed }
transitions:
  check: { from: new, to: checked, do: { function: check }, undo: { function: uncheck } }
  end: { from: checked, to: done, do: { function: check } }
---
kind: Route
name: r
on: a.b
do: { function: greet }
---
kind: Route
name: s
on: a.b
do: { emit: b.c }
`

test('[WL20] the code of a workflow is that of all its functions, each once: of transitions, undoing and places', () => {
  const { documents, findings } = compileDefinitions([{ path: 'a.yaml', text: WORKFLOW }], {
    functions: (name) => `sha256:${name}`,
  })
  expect(findings).toEqual([])
  expect(documents.map(codeHashesOf)).toEqual([
    ['sha256:greet', 'sha256:check', 'sha256:uncheck'],
    ['sha256:greet'],
    [],
  ])
})
