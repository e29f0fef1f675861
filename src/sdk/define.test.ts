// What the builders return, and what an editor knows about them: the type checker runs over this file too.

import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { InputOf } from '../definitions/kinds/index.ts'
import type { FunctionContext as EngineContext } from '../ports/code.ts'
import {
  type ConnectionDefinition,
  type CredentialDefinition,
  defineFunction,
  defineProfile,
  defineRoute,
  defineSource,
  type FunctionContext,
  type OperationDefinition,
  type ProfileDefinition,
  type ProviderDefinition,
  type RouteDefinition,
  type SourceDefinition,
  type SubscriptionDefinition,
} from './index.ts'

const exportHours = defineFunction({
  name: 'export_hours',
  input: z.object({
    id: z.string(),
    hours: z.number(),
    lines: z.array(z.object({ note: z.string() })).default([]),
  }),
  run(input, ctx) {
    expectTypeOf(input).toEqualTypeOf<{ id: string; hours: number; lines: { note: string }[] }>()
    expectTypeOf(ctx).toEqualTypeOf<FunctionContext>()
    return { sapId: `${input.id}-${ctx.key}` }
  },
})

describe('builders', () => {
  test('[FN7] return plain data with their kind', () => {
    const source = { name: 'shop', verify: { scheme: 'none' }, subject: 'shop.paid' } as const
    const route = { name: 'book', on: 'shop.paid', do: { emit: 'shop.booked' } } as const
    const profile = { name: 'once', retry: { attempts: 1 } } as const
    expect([defineSource(source), defineRoute(route), defineProfile(profile)]).toStrictEqual([
      { kind: 'Source', ...source },
      { kind: 'Route', ...route },
      { kind: 'Profile', ...profile },
    ])
    expect(exportHours.with({ id: '{{ payload.id }}', hours: 3 })).toStrictEqual({
      function: 'export_hours',
      with: { id: '{{ payload.id }}', hours: 3 },
    })
    expect(exportHours.with()).toStrictEqual({ function: 'export_hours' })
  })

  test('an editor knows the fields of every kind, and no others', () => {
    expectTypeOf<keyof SourceDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Source'>>()
    expectTypeOf<keyof RouteDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Route'>>()
    expectTypeOf<keyof SubscriptionDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Subscription'>>()
    expectTypeOf<keyof ProviderDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Provider'>>()
    expectTypeOf<keyof ConnectionDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Connection'>>()
    expectTypeOf<keyof CredentialDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Credential'>>()
    expectTypeOf<keyof OperationDefinition>().toEqualTypeOf<
      keyof NonNullable<InputOf<'Provider'>['operations']>[string]
    >()
    expectTypeOf<keyof ProfileDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Profile'>>()
    const wrong = [
      // @ts-expect-error there is no such field
      () => defineRoute({ name: 'a', on: 'x.y', do: { emit: 'y.z' }, ky: 'payload.id' }),
      // @ts-expect-error a duration has a unit
      () => defineRoute({ name: 'a', on: 'x.y', do: { emit: 'y.z' }, maxWait: '5 minutes' }),
      // @ts-expect-error an action is needed
      () => defineRoute({ name: 'a', on: 'x.y' }),
      // @ts-expect-error there is no such method
      () => defineRoute({ name: 'a', on: 'x.y', do: { http: { url: 'https://x', method: 'FETCH' } } }),
      // @ts-expect-error the scheme needs a secret
      () => defineSource({ name: 'a', subject: 'x.y', verify: { scheme: 'github' } }),
    ]
    expect(wrong).toHaveLength(5)
  })

  test('an editor knows the input of a function; every part of it may be a template', () => {
    expectTypeOf(exportHours.with().function).toEqualTypeOf<'export_hours'>()
    const right = [
      () => exportHours.with({ id: 'x', hours: '{{ payload.hours }}', lines: '{{ payload.lines }}' }),
      () => exportHours.with({ id: '{{ payload.id }}', hours: 1, lines: [{ note: '{{ payload.note }}' }] }),
      () => exportHours.with('{{ payload }}'),
    ]
    const wrong = [
      // @ts-expect-error hours are a number, or a template
      () => exportHours.with({ id: 'x', hours: 'three' }),
      // @ts-expect-error hours are needed
      () => exportHours.with({ id: 'x' }),
      // @ts-expect-error there is no such field
      () => exportHours.with({ id: 'x', hours: 1, minutes: 2 }),
    ]
    expect([right.length, wrong.length]).toEqual([3, 3])
  })

  test('without a schema the input is what `run` declares', () => {
    const plain = defineFunction({ name: 'plain', run: (order: { id: string }) => order.id })
    expectTypeOf(plain.run).parameter(0).toEqualTypeOf<{ id: string }>()
    expect(plain.with({ id: 'x' })).toEqual({ function: 'plain', with: { id: 'x' } })
    const bare = defineFunction({ name: 'bare', run: () => 1 })
    expect(bare.with({ anything: [1] })).toEqual({ function: 'bare', with: { anything: [1] } })
  })
})

test('what the engine gives a function is what its author was promised', () => {
  expectTypeOf<Required<EngineContext>>().toExtend<FunctionContext>()
})
