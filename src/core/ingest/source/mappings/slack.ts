// Slack: events have their type inside, with a subtype such as `message.channel_join`; slash commands and interactions with
// buttons, menus and dialogs arrive as forms.

import type { Mapping } from './mapping.ts'

const command = "'slash_command.' + token(replace(string(payload.command), '/', ''))"
const channel =
  'coalesce(payload.event.channel.id, payload.event.channel, payload.event.item.channel, payload.channel.id, payload.channel_id)'
const team = 'coalesce(payload.team_id, payload.team.id)'

export const slack: Mapping = {
  title: 'Slack',
  subject: `slack.events.{{ coalesce(token(payload.event.type), ${command}, token(payload.type), 'unknown') }}{{ '.' + token(payload.event.subtype) }}`,
  event: {
    id: 'coalesce(payload.event_id, payload.trigger_id)',
    objectType: `{{ ${channel} != null ? 'channel' : ${team} != null ? 'team' : null }}`,
    objectId: `coalesce(${channel}, ${team})`,
    occurredAt: 'payload.event_time',
  },
}
