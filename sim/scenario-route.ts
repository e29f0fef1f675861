// A route of the simulation, and what the simulator has to know of it.

import type { RouteDocument } from '../src/core/definitions/documents/index.ts'

export interface OrderPayload {
  readonly order: string
  readonly amount: number
  readonly vat: string | null
}

export interface ScenarioRoute {
  readonly document: RouteDocument
  wants(subject: string, payload: OrderPayload): boolean
}
