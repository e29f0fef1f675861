import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { addBodies } from './bodies.ts'
import { makeByteBudget } from './byte-budget.ts'

test('[AP21] a body that comes as text counts by its bytes', async () => {
  const budget = makeByteBudget(1_000)
  const app = fastify()
  app.addHook('onRequest', async ({ raw }) => {
    raw.setEncoding('utf8')
  })
  addBodies(app, { budget, bodyBytesMax: 100 })
  app.post('/', async ({ body }) => ({ body, held: budget.held }))
  const post = (payload: string) =>
    app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'text/plain' }, payload })
  const answer = await post('ü'.repeat(40))
  expect(answer.json()).toEqual({ body: 'ü'.repeat(40), held: 80 })
  expect((await post('ü'.repeat(51))).statusCode).toBe(413)
  expect(budget.held).toBe(0)
  await app.close()
})
