import {
  chmodSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCli } from '../cli.fixture.ts'

const flows = mkdtempSync(join(tmpdir(), 'millrace-fmt-'))
afterAll(() => rmSync(flows, { recursive: true }))
const path = join(flows, 'a.yaml')
const LONG = `kind: Source
name: stripe
verify: { scheme: stripe, secret: { env: STRIPE_HOOK } } # rotated yearly
subjects: stripe
`
const SHORT = `kind: Source
name: stripe
vendor: stripe
secret: { env: STRIPE_HOOK } # rotated yearly
`

test('[SF6] [SF7] `fmt` looks with --check, rewrites, and then has nothing to do', async () => {
  writeFileSync(path, LONG)
  const looked = await runCli(['fmt', flows, '--check'])
  expect(looked.stdout).toContain('would rewrite a.yaml')
  expect(looked.code).not.toBe(0)
  expect(readFileSync(path, 'utf8')).toBe(LONG)
  const wrote = await runCli(['fmt', flows])
  expect(wrote.stdout).toContain('rewrote a.yaml')
  expect(wrote.code).toBe(0)
  expect(readFileSync(path, 'utf8')).toBe(SHORT)
  const again = await runCli(['fmt', flows, '--check'])
  expect(again.stdout).toContain('nothing to shorten')
  expect(again.code).toBe(0)
})

test('[SF7] a file with an error is reported and not written', async () => {
  const wrong = LONG.replace('subjects', 'subject_s')
  writeFileSync(path, wrong)
  const { stdout, code } = await runCli(['fmt', flows])
  expect(stdout).toContain('a.yaml:4:1 error F12')
  expect(code).not.toBe(0)
  expect(readFileSync(path, 'utf8')).toBe(wrong)
  expect((await runCli(['fmt', join(flows, 'nowhere')])).stderr).toContain('is not a folder')
})

test('[SF7] a file is replaced as a whole, with its mode', async () => {
  writeFileSync(path, LONG)
  chmodSync(path, 0o664)
  const former = join(flows, 'former.txt')
  linkSync(path, former)
  expect((await runCli(['fmt', flows])).code).toBe(0)
  expect(readFileSync(path, 'utf8')).toBe(SHORT)
  expect(statSync(path).mode & 0o777).toBe(0o664)
  // Who reads the file meanwhile reads the former text to its end.
  expect(readFileSync(former, 'utf8')).toBe(LONG)
  expect(readdirSync(flows).toSorted()).toEqual(['a.yaml', 'former.txt'])
})
