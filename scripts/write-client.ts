// Writes docs/openapi.json and src/sdk/client/api.generated.ts: `npx tsx scripts/write-client.ts`.
import { writeFileSync } from 'node:fs'
import { readDocument } from '../src/http/document.fixture.ts'
import { renderClientTypes } from './lib/client-types.ts'

const document = await readDocument()
const write = (path: string, text: string) => writeFileSync(new URL(`../${path}`, import.meta.url), text)
write('docs/openapi.json', `${JSON.stringify(document, null, 2)}\n`)
write('src/sdk/client/api.generated.ts', renderClientTypes(document))
