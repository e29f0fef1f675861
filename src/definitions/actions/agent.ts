// A question to an agent.

import type { AgentActionDocument } from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { optional, reference } from '../fields.ts'
import { milliseconds } from '../written.ts'
import { type ActionDeclaration, checkNamed } from './action-kind.ts'

const agentField = () => optional(reference(), 'The name of an agent to ask.', 'another action')

export const agent: ActionDeclaration<AgentActionDocument, ReturnType<typeof agentField>> = {
  field: agentField,
  optional: ['with', 'timeout'],
  resolve(name, { with: given, timeout }, { usual, known }) {
    const agent = known.agents.get(name)
    if (agent === undefined) return null
    return {
      type: 'agent',
      agent,
      with: (given ?? usual) as JsonValue,
      ...(timeout === undefined ? {} : { timeoutMs: milliseconds(timeout, agent.timeoutMs) }),
    }
  },
  check: (action, at, { agents }) =>
    checkNamed(action.agent, [...at, 'agent'], { rule: 'unknownAgent', kind: 'Agent' }, agents),
  readsEvent: true,
  screen: { icon: 'Bot', does: 'asks an agent' },
}
