// Slack's subjects: its events, slash commands, and interactions with buttons, menus and dialogs.

import type { CatalogEntry } from '../catalog-entry.ts'
import { constant, object, text, whole } from './schema-helpers.ts'

const EVENTS: Readonly<Record<string, string>> = {
  app_home_opened: 'A user opened the app’s home.',
  app_mention: 'A user mentioned the app.',
  app_uninstalled: 'The app was removed from the workspace.',
  channel_archive: 'A channel was archived.',
  channel_created: 'A channel was made.',
  channel_deleted: 'A channel was deleted.',
  channel_rename: 'A channel has a new name.',
  channel_shared: 'A channel is shared with another workspace.',
  channel_unarchive: 'A channel is back from the archive.',
  channel_unshared: 'A channel is no longer shared.',
  emoji_changed: 'A custom emoji changed.',
  file_change: 'A file changed.',
  file_created: 'A file was made.',
  file_deleted: 'A file was deleted.',
  file_public: 'A file became public.',
  file_shared: 'A file was shared.',
  group_archive: 'A private channel was archived.',
  group_rename: 'A private channel has a new name.',
  im_created: 'A direct message was begun.',
  link_shared: 'A link that the app knows was posted.',
  member_joined_channel: 'A user joined a channel.',
  member_left_channel: 'A user left a channel.',
  message: 'A message.',
  'message.*': 'A message of a special kind, such as `message.channel_join` or `message.message_changed`.',
  pin_added: 'Something was pinned.',
  pin_removed: 'Something is no longer pinned.',
  reaction_added: 'A user reacted.',
  reaction_removed: 'A user took a reaction back.',
  subteam_created: 'A user group was made.',
  subteam_updated: 'A user group changed.',
  team_domain_change: 'The workspace has a new domain.',
  team_join: 'A user joined the workspace.',
  team_rename: 'The workspace has a new name.',
  tokens_revoked: 'Tokens of the app were revoked.',
  user_change: 'A user’s profile changed.',
  workflow_step_execute: 'A step of a workflow is to be done.',
}

const DONE: Readonly<Record<string, string>> = {
  block_actions: 'A user used a button, a menu or another block.',
  interactive_message: 'A user used a button of an older message.',
  message_action: 'A user chose the app in the menu of a message.',
  shortcut: 'A user chose the app’s shortcut.',
  view_closed: 'A user closed a dialog.',
  view_submission: 'A user sent a dialog.',
}

const AT = 1_704_164_645

export function slackEntries(): readonly CatalogEntry[] {
  const events = Object.entries(EVENTS).map(([name, description]) => {
    const type = name.replace('.*', '')
    const subtype = name.endsWith('.*') ? { subtype: 'channel_join' } : {}
    return {
      subject: `slack.events.${name}`,
      description,
      schema: object(
        {
          type: constant('event_callback'),
          event_id: text,
          event: object({ type: constant(type) }, { user: {} }),
        },
        { team_id: text, api_app_id: text, event_time: whole },
      ),
      example: {
        type: 'event_callback',
        team_id: 'T1001',
        event_id: 'Ev1001',
        event_time: AT,
        event: { type, ...subtype, user: 'U1001', channel: 'C1001', text: 'Some text' },
      },
    }
  })
  const done = Object.entries(DONE).map(([type, description]) => ({
    subject: `slack.events.${type}`,
    description,
    schema: object({ type: constant(type) }, { trigger_id: text, user: { type: 'object' }, team: {} }),
    example: {
      type,
      trigger_id: '1001.1',
      user: { id: 'U1001' },
      team: { id: 'T1001' },
      channel: { id: 'C1001' },
    },
  }))
  return [
    ...events,
    ...done,
    {
      subject: 'slack.events.slash_command.*',
      description: 'A slash command; the last token is its name.',
      schema: object(
        { command: text },
        { text, trigger_id: text, user_id: text, channel_id: text, team_id: text },
      ),
      example: {
        command: '/sample',
        text: 'some text',
        trigger_id: '1001.1',
        channel_id: 'C1001',
        user_id: 'U1001',
      },
    },
    {
      subject: 'slack.events.app_rate_limited',
      description: 'Slack holds events back for a minute: there were too many.',
      schema: object({ type: constant('app_rate_limited') }, { minute_rate_limited: whole, team_id: text }),
      example: { type: 'app_rate_limited', minute_rate_limited: AT, team_id: 'T1001' },
    },
  ]
}
