// Writes what is made from the declarations of the kinds: docs/definitions.schema.json, types of the SDK and of documents,
// and fields of forms. `npm run docs` runs it; by itself: `npx tsx scripts/write-definitions-schema.ts`.
import { writeFileSync } from 'node:fs'
import { makeJsonSchema } from '../src/definitions/json-schema.ts'
import {
  renderActionKinds,
  renderCarriedFields,
  renderDefinitionTypes,
  renderFormFields,
} from './lib/definition-types.ts'

const write = (path: string, text: string) => writeFileSync(new URL(`../${path}`, import.meta.url), text)
write('docs/definitions.schema.json', `${JSON.stringify(makeJsonSchema(), null, 2)}\n`)
write('src/sdk/definitions.generated.ts', renderDefinitionTypes())
write('src/core/definitions/documents/carried-fields.generated.ts', renderCarriedFields())
write('console/src/lib/definition-fields.generated.ts', renderFormFields())
write('console/src/lib/action-kinds.generated.ts', renderActionKinds())
