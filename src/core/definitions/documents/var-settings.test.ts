// Settings of a node in place of values of `vars`: which name they mean, and which type they have.
import { describe, expect, test } from 'vitest'
import { applyVarSettings } from './var-settings.ts'

const VALUES = { crm: 'https://dev.example', batch: 25, isLive: false, tags: ['a'], limits: { a: 1 } }

describe('[VR13] a setting has the type of the defined value', () => {
  test.each([
    ['crm', 'https://x.example', 'https://x.example'],
    ['crm', '25', '25'],
    ['batch', '50', 50],
    ['isLive', 'true', true],
    ['tags', '["b"]', ['b']],
    ['limits', '{"a":2}', { a: 2 }],
    ['CRM', 'https://x.example', 'https://x.example'],
  ])('%s=%s', (name, text, value) => {
    const set = applyVarSettings(VALUES, { [name]: text })
    const own = Object.keys(VALUES).find((one) => one.toLowerCase() === name.toLowerCase()) as string
    expect(set.problems).toEqual([])
    expect(set.values).toEqual({ ...VALUES, [own]: value })
    expect([...set.settings]).toEqual([[own, `MILLRACE_VAR_${name}`]])
  })

  test.each([
    ['batch', 'abc', 'is a number, such as `25` where it is defined'],
    ['batch', '"25"', 'is a number'],
    ['isLive', 'yes', 'is `true` or `false`'],
    ['tags', '{"a":1}', 'is a list'],
    ['limits', '[1]', 'is a map'],
    ['crm', `ghp_${'a1B2'.repeat(9)}`, 'looks like a credential'],
    ['other', 'x', 'no definition has `vars.other`'],
  ])('%s=%s changes nothing, and says what to do', (name, text, message) => {
    const set = applyVarSettings(VALUES, { [name]: text })
    expect(set.values).toEqual(VALUES)
    expect(set.problems).toMatchObject([
      { setting: `MILLRACE_VAR_${name}`, message: expect.stringContaining(message) },
    ])
  })
})

test('[VR13] one setting for one name', () => {
  const values = { crm: 'a', CRM: 'b' }
  expect(applyVarSettings(values, { Crm: 'x' }).problems).toMatchObject([
    { message: expect.stringContaining('one of `vars.crm`, `vars.CRM`') },
  ])
  expect(applyVarSettings(values, { crm: 'x' }).values).toEqual({ crm: 'x', CRM: 'b' })
  expect(applyVarSettings({ crm: 'a' }, { crm: 'x', CRM: 'y' }).problems).toMatchObject([
    { setting: 'MILLRACE_VAR_CRM', message: expect.stringContaining('`MILLRACE_VAR_crm` sets') },
  ])
})
