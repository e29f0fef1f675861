// All destinations, once: for the side bar, the palette and the keys.

import {
  Activity,
  BookCheck,
  BookOpen,
  Cable,
  CircleQuestionMark,
  CircleX,
  FlaskConical,
  Inbox,
  KeyRound,
  Layers,
  type LucideIcon,
  MailX,
  PlugZap,
  Send,
  Settings,
  ShieldX,
  Siren,
  SquareTerminal,
  Store,
  Unplug,
  Waypoints,
  Webhook,
  Workflow,
} from 'lucide-react'

export interface Place {
  readonly href: string
  readonly label: string
  readonly icon: LucideIcon
  /** Pressed after `g`. */
  readonly key: string
  readonly count?: 'parked' | 'openDeadLetters' | 'raisedEscalations' | 'openOrphans' | 'failingSubscriptions'
}

export const PLACES: readonly { readonly title: string | null; readonly places: readonly Place[] }[] = [
  {
    title: null,
    places: [
      { href: '/', label: 'Overview', icon: Activity, key: 'o' },
      { href: '/events', label: 'Events', icon: Inbox, key: 'e' },
      { href: '/work', label: 'Work', icon: Layers, key: 'w' },
      { href: '/failures', label: 'Failures', icon: CircleX, key: 'f' },
      { href: '/ledger', label: 'Ledger', icon: BookCheck, key: 'l' },
      { href: '/rejections', label: 'Rejections', icon: ShieldX, key: 'x' },
    ],
  },
  {
    title: 'Needs a person',
    places: [
      { href: '/escalations', label: 'Escalations', icon: Siren, key: 'a', count: 'raisedEscalations' },
      { href: '/unknown', label: 'Unknown outcomes', icon: CircleQuestionMark, key: 'u', count: 'parked' },
      { href: '/dead-letters', label: 'Dead letters', icon: MailX, key: 'd', count: 'openDeadLetters' },
      { href: '/orphans', label: 'Orphans', icon: Unplug, key: 'p', count: 'openOrphans' },
    ],
  },
  {
    title: 'Webhooks out',
    places: [
      {
        href: '/subscriptions',
        label: 'Subscriptions',
        icon: Webhook,
        key: 'b',
        count: 'failingSubscriptions',
      },
      { href: '/deliveries', label: 'Deliveries', icon: Send, key: 'y' },
    ],
  },
  {
    title: 'Connections',
    places: [
      { href: '/connections', label: 'Connections', icon: PlugZap, key: 'i' },
      { href: '/credentials', label: 'Credentials', icon: KeyRound, key: 'v' },
      { href: '/runs', label: 'Runs', icon: SquareTerminal, key: 'm' },
      { href: '/providers', label: 'Providers', icon: Store, key: 'q' },
    ],
  },
  {
    title: 'Definitions',
    places: [
      { href: '/sources', label: 'Sources', icon: Cable, key: 's' },
      { href: '/catalog', label: 'Catalog', icon: BookOpen, key: 'c' },
      { href: '/routes', label: 'Routes', icon: Waypoints, key: 'r' },
      { href: '/workflows', label: 'Workflows', icon: Workflow, key: 'n' },
      { href: '/try', label: 'Try', icon: FlaskConical, key: 't' },
    ],
  },
  { title: 'Node', places: [{ href: '/settings', label: 'Settings', icon: Settings, key: ',' }] },
]

export const ALL_PLACES: readonly Place[] = PLACES.flatMap(({ places }) => places)

export function isHere(path: string, href: string): boolean {
  return href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`)
}
