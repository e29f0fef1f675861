import { expect, test } from 'vitest'
import { buffersInWords } from './route-words.ts'

test('[IX3] auth is described by its method and where its secret is', () => {
  const said = (auth: object) => buffersInWords({ do: { auth } }).map(({ what, text }) => `${what}: ${text}`)
  expect(said({ bearer: { ref: 'books' } })).toEqual(['Auth: bearer (secret books)'])
  expect(said({ basic: { user: 'me', password: { env: 'PASSWORD' } } })).toEqual([
    'Auth: basic as me (environment variable PASSWORD)',
  ])
  expect(said({ header: { name: 'x-api-key', value: { file: 'key' } } })).toEqual([
    'Auth: header x-api-key (file key)',
  ])
  expect(buffersInWords({ do: {} })).toEqual([])
})
