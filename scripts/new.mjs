// `npm run new connector <name>`: creates a working connector from src/connectors/_template, with its line in
// src/connectors/index.ts. The template passes the suite, and a test runs this command and the suite on its output
// (test/new-connector.slow.test.ts).
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const USAGE = 'usage: npm run new connector <name>, as in `npm run new connector acme-crm`'

function fail(text) {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

const [kind, name, ...rest] = process.argv.slice(2)
if (kind !== 'connector' || name === undefined) fail(USAGE)
if (!NAME.test(name))
  fail(`\`${name}\` cannot name a connector: use lower-case words with dashes between them.`)
/** Another folder of connectors than this repository's. */
const folder = rest[0] === '--into' && rest[1] !== undefined ? resolve(rest[1]) : join(root, 'src/connectors')
const target = join(folder, name)
if (existsSync(target)) fail(`${target} is there already: choose another name, or change that connector.`)

const words = name.split('-')
const capital = (word) => word[0].toUpperCase() + word.slice(1)
const identifier = words[0] + words.slice(1).map(capital).join('')
const title = words.map(capital).join(' ')

/** In a text or an address the name as it is; in code an identifier; in prose a title. */
const renamed = (text) =>
  text
    .replace(/\bAcme\b/g, title)
    .replace(/'acme'|api\.acme\.example/g, (found) => found.replace('acme', name))
    .replace(/\bacme\b/g, identifier)

const template = (file) => renamed(readFileSync(join(root, 'src/connectors/_template', file), 'utf8'))

/** Lines stay in the order of their names, as the formatter wants them. */
function withLine(lines, isOne, line) {
  const places = lines.flatMap((one, at) => (isOne(one) ? [at] : []))
  const next = places.find((at) => lines[at] > line)
  const at = next ?? (places.at(-1) ?? lines.length - 1) + 1
  return [...lines.slice(0, at), line, ...lines.slice(at)]
}

function listed(text) {
  const importLine = `import { ${identifier} } from './${name}/manifest.ts'`
  const byPath = (line) => line.replace(/^import .* from /, '')
  const lines = text.split('\n')
  const imports = lines.filter((line) => /from '\.\/[^']+\/manifest\.ts'$/.test(line))
  const first = lines.indexOf(imports[0])
  const sorted = [...imports, importLine].sort((a, b) => (byPath(a) < byPath(b) ? -1 : 1))
  const rest = [...lines.slice(0, first), ...sorted, ...lines.slice(first + imports.length)]
  const start = rest.findIndex((line) => line.startsWith('export const BUILT_IN_PROVIDERS'))
  const head = rest.slice(0, start + 1)
  return [
    ...head,
    ...withLine(rest.slice(start + 1), (line) => /^ {2}\w+,$/.test(line), `  ${identifier},`),
  ].join('\n')
}

const index = join(folder, 'index.ts')
const changed = listed(readFileSync(index, 'utf8'))
mkdirSync(target)
writeFileSync(join(target, 'manifest.ts'), template('manifest.ts'))
writeFileSync(join(target, `${name}.test.ts`), template('template.test.ts'))
writeFileSync(index, changed)

process.stdout.write(`${target}
  manifest.ts         what is known of ${title}: change it first
  ${`${name}.test.ts`.padEnd(19)} what ${title} sees and answers
Next: npm run test:fast -- src/connectors/${name}
Then: docs/connectors.md says what a manifest needs, and npm run docs brings it to the references.
`)
