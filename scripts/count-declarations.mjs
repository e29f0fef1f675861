// `node scripts/count-declarations.mjs <what> [commit]`: the files that were written by hand since a commit, for one change of
// the kind that <what> names, and whether they are as few as CONTRIBUTING.md promises. Generated files do not count.
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

/** The most files for one field of a kind of definitions, one kind, one action, one list of the API. */
const MOST = { field: 4, kind: 10, action: 11, list: 6 }

/** What `npm run docs` writes, and what tests record. */
const GENERATED = [
  /\.generated\.(?:ts|json)$/,
  /^docs\/(?:definitions\.schema|openapi|webhook-vectors)\.json$/,
  /^docs\/(?:definitions-reference|api-reference|cli|settings|metrics|errors)\.md$/,
  /^test\/recorded\//,
  /(?:\.snap|definition-hashes\.fixture\.json)$/,
]

const [what, commit = 'HEAD'] = process.argv.slice(2)
if (!Object.hasOwn(MOST, what ?? '')) {
  process.stderr.write(`usage: node scripts/count-declarations.mjs ${Object.keys(MOST).join('|')} [commit]\n`)
  process.exit(2)
}

const git = (...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '')

const changed = [
  ...new Set([...git('diff', '--name-only', commit), ...git('ls-files', '--others', '--exclude-standard')]),
].sort()
const isGenerated = (path) => GENERATED.some((pattern) => pattern.test(path))
const byHand = changed.filter((path) => !isGenerated(path))

for (const path of byHand) process.stdout.write(`by hand    ${path}\n`)
for (const path of changed.filter(isGenerated)) process.stdout.write(`generated  ${path}\n`)
process.stdout.write(`${byHand.length} files by hand; at most ${MOST[what]} for a ${what}\n`)
process.exit(byHand.length > 0 && byHand.length <= MOST[what] ? 0 : 1)
