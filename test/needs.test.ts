import { execFileSync } from 'node:child_process'
import { afterEach, expect, test, vi } from 'vitest'
import { requireNode22, requireTool } from './support/needs.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

test('the tools that suites need are installed', () => {
  expect(requireTool('wrk')).toMatch(/wrk$/)
  expect(requireTool('nats-server')).toMatch(/nats-server$/)
  expect(process.env.CHROMIUM ?? requireTool('chromium')).toMatch(/chrom/)
  expect(execFileSync(requireNode22(), ['--version'], { encoding: 'utf8' })).toMatch(/^v22\./)
})

test('a server is found where only root’s PATH looks for programs', () => {
  vi.stubEnv('PATH', '/usr/bin:/bin')
  expect(requireTool('nats-server')).toMatch(/nats-server$/)
})

test('what is missing is an error that says what to install', () => {
  vi.stubEnv('PATH', '/nowhere')
  expect(() => requireTool('wrk')).toThrow(
    'wrk is missing; install it (Debian, Ubuntu: `apt-get install wrk`).',
  )
  vi.stubEnv('MILLRACE_TEST_NODE22', '/nowhere/node')
  expect(() => requireNode22()).toThrow('point it to a Node 22')
})
