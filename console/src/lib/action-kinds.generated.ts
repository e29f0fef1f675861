// Generated from src/definitions/actions by `npm run docs`; do not edit.

import { Bot, CalendarClock, CalendarX2, Code, Globe, ListTree, Megaphone, Plug, RefreshCw, type LucideIcon } from 'lucide-react'

export const ACTION_KINDS: Readonly<Record<string, { readonly icon: LucideIcon; readonly does: string }>> = {
  http: { icon: Globe, does: "calls an address" },
  upsert: { icon: RefreshCw, does: "creates or updates an object" },
  function: { icon: Code, does: "runs a function" },
  emit: { icon: Megaphone, does: "emits an event" },
  start: { icon: ListTree, does: "starts another workflow" },
  schedule: { icon: CalendarClock, does: "sets a schedule" },
  unschedule: { icon: CalendarX2, does: "ends a schedule" },
  agent: { icon: Bot, does: "asks an agent" },
  operation: { icon: Plug, does: "calls an operation" },
}
