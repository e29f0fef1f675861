// Writes what is made from the declarations of the routes: the table of requests, the OpenAPI document (for the node, and for readers) and
// the types of the client.
import { writeFileSync } from 'node:fs'
import { readDocument } from '../src/http/document.fixture.ts'
import { makeRequests } from '../src/http/openapi-document.ts'
import { renderClientTypes } from './lib/client-types.ts'
import { makeListTables, renderListTables } from './lib/list-tables.ts'
import { renderRequests } from './lib/requests.ts'

const document = readDocument()
const write = (path: string, text: string) => writeFileSync(new URL(`../${path}`, import.meta.url), text)
write('src/http/requests.generated.ts', renderRequests(makeRequests()))
write('src/http/openapi.generated.json', JSON.stringify(document))
write('docs/openapi.json', `${JSON.stringify(document, null, 2)}\n`)
write('src/sdk/client/api.generated.ts', renderClientTypes(document))
write('src/sdk/client/lists.generated.ts', renderListTables(makeListTables(document)))
