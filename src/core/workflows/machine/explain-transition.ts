// Why a transition can or cannot fire: one rule after another, each with the values it read.

import { ExpressionError, explainCondition, type Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { Instance } from '../instance/index.ts'
import type { Rule, StepEnv, Transition, Workflow } from './machine-types.ts'
import { freeIn, tokensIn } from './token-moves.ts'
import { instanceScope } from './workflow-scope.ts'

export interface Explained {
  readonly name: string
  readonly canFire: boolean
  readonly rules: readonly Rule[]
}

/**
 * For everyone who may see the instance. `actor`: who would fire it manually; left out: no one in particular. `shown`: the
 * instance without what the reader may not see; conditions are decided by all of it, and show only that part.
 */
export function explainTransitions(
  workflow: Workflow,
  instance: Instance,
  env: Pick<StepEnv, 'scope'>,
  actor?: string,
  shown: Instance = instance,
): readonly Explained[] {
  const extra = actor === undefined ? {} : { actor }
  const scope = instanceScope(workflow, instance, env.scope, extra)
  const seen = shown === instance ? scope : instanceScope(workflow, shown, env.scope, extra)
  return [...workflow.transitions.values()].map((transition) => {
    const rules = rulesOf(workflow, instance, transition, scope, { actor: actor ?? null, seen })
    return { name: transition.document.name, canFire: rules.every(({ holds }) => holds), rules }
  })
}

export function rulesOf(
  workflow: Workflow,
  instance: Instance,
  transition: Transition,
  scope: Scope,
  { actor, seen }: { readonly actor: string | null; readonly seen: Scope },
): readonly Rule[] {
  return [
    ...stateRules(instance),
    modeRule(transition, actor !== null),
    ...tokenRules(workflow, instance, transition),
    ...whenRules(transition, scope, seen, workflow),
    ...(actor === null ? [] : notByRules(transition, scope, actor)),
  ]
}

function stateRules({ state, rollBack, admission }: Instance): readonly Rule[] {
  const rules: Rule[] = []
  const isActive = state === 'active' && rollBack === null
  const message = state !== 'active' ? `the instance is ${state}` : 'the instance is rolling back'
  rules.push({ rule: 'state', holds: isActive, message: isActive ? 'the instance is active' : message })
  if (admission.waitsFor !== null) {
    const waits = admission.waitsFor === 'lock' ? 'its lock' : 'a place among those that run'
    rules.push({ rule: 'admission', holds: false, message: `the instance waits for ${waits}` })
  }
  return rules
}

function modeRule({ document, isAutomatic, isAwaited }: Transition, byHand: boolean): Rule {
  if (isAutomatic) return { rule: 'mode', holds: !byHand, message: 'it fires by itself as soon as it can' }
  if (!isAwaited) return { rule: 'mode', holds: !byHand, message: 'it fires when the time of a stay is over' }
  const message = document.on === 'manual' ? 'a person fires it' : 'an event or a person fires it'
  return { rule: 'mode', holds: true, message }
}

function tokenRules(workflow: Workflow, instance: Instance, transition: Transition): readonly Rule[] {
  const { from, fromAny } = transition.document
  const rules = from.map((place) => placeRule(workflow, instance, transition, place))
  if (fromAny === undefined) return rules
  const any = fromAny.map((place) => placeRule(workflow, instance, transition, place))
  const holds = any.some((rule) => rule.holds)
  const message = `one of: ${any.map((rule) => rule.message).join('; ')}`
  return [...rules, { rule: 'tokens', holds, message }]
}

function placeRule(
  workflow: Workflow,
  instance: Instance,
  { isAutomatic, document }: Transition,
  place: string,
): Rule {
  const needed = document.from.filter((one) => one === place).length || 1
  const there = tokensIn(instance.marking, place)
  const free = freeIn(instance, place)
  if (workflow.places.get(place)?.type === 'final') {
    return { rule: 'final', holds: false, message: `tokens in the final place ${place} stay there` }
  }
  const holders = instance.firings.filter(({ held }) => held.includes(place))
  const held = holders.map(({ number, name, state }) => `${name} (firing ${number}, ${state})`).join(', ')
  const message = `${place} has ${there} of ${needed} token${needed === 1 ? '' : 's'}${held === '' ? '' : `, held by ${held}`}`
  return { rule: 'tokens', holds: isAutomatic ? free >= needed : there >= needed, message }
}

function whenRules(
  { document, when }: Transition,
  scope: Scope,
  seen: Scope,
  { keyed }: Workflow,
): readonly Rule[] {
  if (document.when === null) return []
  let holds = false
  let trouble = ''
  try {
    holds = when(scope)
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    trouble = ` cannot be decided: ${error.message}`
  }
  const parts = explainCondition(document.when, scope, seen, keyed)
  const told = parts.map(
    (part) => `${part.part} is ${part.holds}${part.saw === undefined ? '' : ` (${part.saw})`}`,
  )
  return [{ rule: 'when', holds, message: told.length === 0 ? `its condition${trouble}` : told.join('; ') }]
}

function notByRules({ document, notBy }: Transition, scope: Scope, actor: string): readonly Rule[] {
  if (document.notBy === undefined) return []
  try {
    const holds = !names(notBy({ ...scope, actor }), actor)
    return [{ rule: 'notBy', holds, message: holds ? 'nobody shuts you out' : `${document.notBy} names you` }]
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return [{ rule: 'notBy', holds: false, message: `cannot be decided: ${error.message}` }]
  }
}

/**
 * Events identify users by name alone, manual firings by name and key: both mean the same user. Case is ignored: admitting a
 * user by mistake is worse than excluding one.
 */
function names(value: JsonValue, actor: string): boolean {
  const [, name, key] = /^(.*) \(key ([^()]+)\)$/.exec(actor) ?? []
  const called = [actor, name, key].map((one) => one?.toLowerCase())
  const isCalled = (one: JsonValue) => typeof one === 'string' && called.includes(one.toLowerCase())
  return Array.isArray(value) ? value.some(isCalled) : isCalled(value)
}
