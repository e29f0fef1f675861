import { expect, test } from 'vitest'
import { dataFolders, withFolders } from './folders.ts'

const having =
  (...paths: readonly string[]) =>
  (path: string) =>
    paths.includes(path)

test('[DM6] in DEV ./flows is used if it exists, and the demo has its own data folder', () => {
  expect(withFolders({}, having('./flows'))).toEqual({ MILLRACE_FLOWS: './flows' })
  expect(withFolders({}, having())).toEqual({ MILLRACE_DATA: './data-demo' })
  expect(withFolders({}, having('data/millrace.db', './data-demo'))).toEqual({ MILLRACE_DATA: './data-demo' })
  // An older installation shared ./data with the demo.
  expect(withFolders({}, having('data/millrace.db'))).toEqual({})
})

test('[DM6] explicit settings are used, and other environments have no such folders', () => {
  const named = { MILLRACE_FLOWS: 'other' }
  expect(withFolders(named, having('./flows'))).toBe(named)
  expect(withFolders({ MILLRACE_DATA: 'mine' }, having())).toEqual({ MILLRACE_DATA: 'mine' })
  expect(withFolders({ MILLRACE_ENV: 'prod' }, having('./flows'))).toEqual({ MILLRACE_ENV: 'prod' })
})

test('[DM6] commands look for the admin key where the node would put it, and then in the other folder', () => {
  expect(dataFolders({}, having('./flows'))).toEqual(['./data', './data-demo'])
  expect(dataFolders({}, having())).toEqual(['./data-demo', './data'])
  expect(dataFolders({ MILLRACE_DATA: 'mine' }, having())).toEqual(['mine'])
})
