// How the machine refuses from anywhere inside: the draft is discarded with all its changes.

import type { Refused } from './machine-types.ts'

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly refused: Refused

  constructor(refused: Refused) {
    super(refused.message)
    this.refused = refused
  }
}

export function refuse(code: Refused['code'], message: string, rules?: Refused['rules']): never {
  throw new Refusal({ code, message, ...(rules === undefined ? {} : { rules }) })
}
