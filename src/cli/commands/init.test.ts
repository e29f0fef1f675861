import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../cli.fixture.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-init-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('[CL20] init writes definitions that pass the check, and says what comes next', async () => {
  const flows = join(folder, 'flows')
  const made = await runCli(['init', flows])
  expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('millrace check')])
  expect(await readdir(flows)).toEqual(['orders.yaml'])
  const checked = await runCli(['check', flows], { env: { SHOP_SECRET: 'shop-secret' } })
  expect([checked.code, checked.stdout]).toEqual([0, '3 definitions in 1 file: no errors\n'])
})

test('[CL20] init overwrites nothing', async () => {
  const flows = join(folder, 'flows')
  await mkdir(flows)
  const refused = await runCli(['init', flows])
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('nothing was written')])
  expect(await readdir(flows)).toEqual([])
  expect(await runCli(['init', join(folder, 'not', 'there')])).toMatchObject({ code: 1 })
  await runCli(['init', join(folder, 'other')])
  const before = await readFile(join(folder, 'other', 'orders.yaml'), 'utf8')
  await runCli(['init', join(folder, 'other')])
  expect(await readFile(join(folder, 'other', 'orders.yaml'), 'utf8')).toBe(before)
})
