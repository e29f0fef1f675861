// Writes docs/definitions.schema.json: `npx tsx scripts/write-definitions-schema.ts`.
import { writeFileSync } from 'node:fs'
import { makeJsonSchema } from '../src/definitions/index.ts'

const target = new URL('../docs/definitions.schema.json', import.meta.url)
writeFileSync(target, `${JSON.stringify(makeJsonSchema(), null, 2)}\n`)
