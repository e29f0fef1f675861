// Holds requests that arrive between binding the port and the engine's start.

import type { Engine } from '../engine/index.ts'
import type { HttpApi } from '../http/index.ts'

export interface Gate {
  bodyBytesMax: HttpApi['sourceBodyMax']
  receive: Engine['receive']
  readonly opened: Promise<void>
  readonly isOpen: boolean
  open(): void
}

/** Requests that arrive between binding the port and the engine's start wait for it; later ones pass without a wait. */
export function makeGate(engine: Engine): Gate {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const gate: Gate & { isOpen: boolean } = {
    bodyBytesMax: (request) => opened.then(() => engine.bodyBytesMax(request)),
    receive: (request: Parameters<Engine['receive']>[0]) => opened.then(() => engine.receive(request)),
    opened,
    isOpen: false,
    open() {
      gate.bodyBytesMax = engine.bodyBytesMax
      gate.receive = engine.receive
      gate.isOpen = true
      open()
    },
  }
  return gate
}

type AsyncPart = Readonly<Record<string, (...args: never[]) => unknown>>

/** The same, but calls before the engine's start wait for it. */
export function behind<Part>(gate: Gate, part: Part): Part {
  const waiting = Object.entries(part as AsyncPart).map(([name, ask]) => [
    name,
    async (...args: never[]) => {
      await gate.opened
      return ask(...args)
    },
  ])
  return Object.fromEntries(waiting) as Part
}

export function pick<From, Name extends keyof From>(from: From, names: readonly Name[]): Pick<From, Name> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<From, Name>
}
