// Checks the import rules of .dependency-cruiser.cjs and fails if it saw no modules: an analyser that cannot read
// TypeScript finds no violations either. `--json` prints its report, `--in <folder>` checks another tree.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { run } from './lib/run.mjs'

const root = resolve(import.meta.dirname, '..')
const { values } = parseArgs({
  options: { json: { type: 'boolean' }, in: { type: 'string', default: root } },
})
const folders = ['src', 'sim', 'bench', 'test', 'console', 'solutions', 'examples'].filter((folder) =>
  existsSync(join(values.in, folder)),
)

const cruiser = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs')
const config = join(root, '.dependency-cruiser.cjs')
const args = [cruiser, '--config', config, '--output-type', 'json', '--progress', 'none', ...folders]
const { output } = await run(process.execPath, args, { cwd: values.in })

let report
try {
  report = JSON.parse(output)
} catch {
  console.log(output)
  process.exit(1)
}
if (values.json) {
  process.stdout.write(output)
} else {
  const { violations, totalCruised } = report.summary
  const comments = new Map(report.summary.ruleSetUsed.forbidden.map((rule) => [rule.name, rule.comment]))
  for (const { from, to, rule, cycle } of violations) {
    const way = cycle === undefined ? to : cycle.map(({ name }) => name).join(' -> ')
    console.log(`${from} -> ${way}\n  ${rule.name}: ${comments.get(rule.name)}`)
  }
  if (totalCruised === 0) console.log('dependency-cruiser saw no modules: it cannot read the sources.')
  process.exitCode = violations.length > 0 || totalCruised === 0 ? 1 : 0
}
