import { expect, test } from 'vitest'
import { provesReachOnly } from './connection-probe.ts'

test('[CX30] without a path of its own, an http connection is reachable by any response that is not a verdict', () => {
  const config = { baseUrl: 'https://api.example' }
  const passing = (name: string, given: typeof config & { probe?: string }) =>
    [200, 301, 400, 401, 403, 404, 405, 407, 408, 410, 421, 425, 429, 500, 503].filter((status) =>
      provesReachOnly({ name }, given, status),
    )
  expect(passing('http', config)).toEqual([301, 400, 404, 405, 410])
  expect(passing('http', { ...config, probe: '/me' })).toEqual([])
  expect(passing('acme', config)).toEqual([])
  expect(provesReachOnly({ name: 'http' }, config, null)).toBe(false)
})
