// Writes src/core/definitions/catalog/vendors/github.generated.ts: `npx tsx scripts/write-github-catalog.ts`.
import { writeFileSync } from 'node:fs'
import { renderGithubCatalog } from './lib/github-catalog.ts'

const target = new URL('../src/core/definitions/catalog/vendors/github.generated.ts', import.meta.url)
writeFileSync(target, renderGithubCatalog())
