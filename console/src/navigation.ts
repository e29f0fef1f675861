// All screens, once: their addresses, their code, and their places in the side bar, the palette and the keys.

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
  List,
  type LucideIcon,
  MailX,
  PlugZap,
  Send,
  Settings,
  ShieldX,
  Siren,
  SlidersHorizontal,
  SquareTerminal,
  Store,
  Unplug,
  Waypoints,
  Webhook,
  Workflow,
} from 'lucide-react'
import { type ComponentType, lazy } from 'react'
import { LIST_TABLES } from '../../src/sdk/client/lists.generated.ts'
import { EventScreen } from './screens/event.tsx'
import { EventsScreen } from './screens/events.tsx'

/** The screen of one thing, by the last segment of its address. */
interface One {
  readonly param: string
  readonly Screen: ComponentType<Readonly<Record<string, string | undefined>>>
}

export interface Screen {
  readonly href: string
  readonly Screen?: ComponentType
  readonly one?: One
}

export interface Place extends Screen {
  readonly Screen: ComponentType
  readonly label: string
  readonly icon: LucideIcon
  /** Pressed after `g`. */
  readonly key: string
  readonly count?: 'parked' | 'openDeadLetters' | 'raisedEscalations' | 'openOrphans' | 'failingSubscriptions'
}

const one = <Param extends string>(
  param: Param,
  Of: ComponentType<{ readonly [P in Param]: string }>,
): One => ({ param, Screen: Of as unknown as One['Screen'] })

const loadOverview = () => import('./screens/overview.tsx')
// Where most visits start: its code loads while the node is asked who is signed in.
if (location.pathname === '/') void loadOverview()

const DeclaredList = lazy(() => import('./screens/declared-list.tsx'))

/** Lists whose table is declared beside their route. */
const DECLARED: readonly Place[] = Object.values(LIST_TABLES).flatMap(({ page }) =>
  page === undefined
    ? []
    : [
        {
          href: `/${page.command}`,
          label: page.title,
          icon: List,
          key: page.key,
          Screen: DeclaredList,
        },
      ],
)

export const PLACES: readonly { readonly title: string | null; readonly places: readonly Place[] }[] = [
  {
    title: null,
    places: [
      {
        href: '/',
        label: 'Overview',
        icon: Activity,
        key: 'o',
        Screen: lazy(loadOverview),
      },
      {
        href: '/events',
        label: 'Events',
        icon: Inbox,
        key: 'e',
        Screen: EventsScreen,
        one: one('id', EventScreen),
      },
      {
        href: '/work',
        label: 'Work',
        icon: Layers,
        key: 'w',
        Screen: lazy(() => import('./screens/work.tsx')),
        one: one(
          'id',
          lazy(() => import('./screens/work-item.tsx')),
        ),
      },
      {
        href: '/failures',
        label: 'Failures',
        icon: CircleX,
        key: 'f',
        Screen: lazy(() => import('./screens/failures.tsx')),
      },
      {
        href: '/ledger',
        label: 'Ledger',
        icon: BookCheck,
        key: 'l',
        Screen: lazy(() => import('./screens/ledger.tsx')),
      },
      {
        href: '/rejections',
        label: 'Rejections',
        icon: ShieldX,
        key: 'x',
        Screen: lazy(() => import('./screens/rejections.tsx')),
      },
    ],
  },
  {
    title: 'Needs a person',
    places: [
      {
        href: '/escalations',
        label: 'Escalations',
        icon: Siren,
        key: 'a',
        count: 'raisedEscalations',
        Screen: lazy(() => import('./screens/escalations.tsx')),
      },
      {
        href: '/unknown',
        label: 'Unknown outcomes',
        icon: CircleQuestionMark,
        key: 'u',
        count: 'parked',
        Screen: lazy(() => import('./screens/parked.tsx')),
      },
      {
        href: '/dead-letters',
        label: 'Dead letters',
        icon: MailX,
        key: 'd',
        count: 'openDeadLetters',
        Screen: lazy(() => import('./screens/dead-letters.tsx')),
        one: one(
          'id',
          lazy(() => import('./screens/dead-letter.tsx')),
        ),
      },
      {
        href: '/orphans',
        label: 'Orphans',
        icon: Unplug,
        key: 'p',
        count: 'openOrphans',
        Screen: lazy(() => import('./screens/orphans.tsx')),
      },
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
        Screen: lazy(() => import('./screens/subscriptions.tsx')),
        one: one(
          'name',
          lazy(() => import('./screens/subscription.tsx')),
        ),
      },
      {
        href: '/deliveries',
        label: 'Deliveries',
        icon: Send,
        key: 'y',
        Screen: lazy(() => import('./screens/deliveries.tsx')),
        one: one(
          'id',
          lazy(() => import('./screens/delivery.tsx')),
        ),
      },
    ],
  },
  {
    title: 'Connections',
    places: [
      {
        href: '/connections',
        label: 'Connections',
        icon: PlugZap,
        key: 'i',
        Screen: lazy(() => import('./screens/connections.tsx')),
        one: one(
          'name',
          lazy(() => import('./screens/connection.tsx')),
        ),
      },
      {
        href: '/credentials',
        label: 'Credentials',
        icon: KeyRound,
        key: 'v',
        Screen: lazy(() => import('./screens/credentials.tsx')),
        one: one(
          'name',
          lazy(() => import('./screens/credential.tsx')),
        ),
      },
      {
        href: '/runs',
        label: 'Runs',
        icon: SquareTerminal,
        key: 'm',
        Screen: lazy(() => import('./screens/runs.tsx')),
        one: one(
          'id',
          lazy(() => import('./screens/run.tsx')),
        ),
      },
      {
        href: '/providers',
        label: 'Providers',
        icon: Store,
        key: 'q',
        Screen: lazy(() => import('./screens/providers.tsx')),
        one: one(
          'name',
          lazy(() => import('./screens/provider.tsx')),
        ),
      },
    ],
  },
  {
    title: 'Definitions',
    places: [
      {
        href: '/sources',
        label: 'Sources',
        icon: Cable,
        key: 's',
        Screen: lazy(() => import('./screens/sources.tsx')),
        one: one(
          'name',
          lazy(() => import('./screens/source.tsx')),
        ),
      },
      {
        href: '/catalog',
        label: 'Catalog',
        icon: BookOpen,
        key: 'c',
        Screen: lazy(() => import('./screens/catalog.tsx')),
        one: one(
          'subject',
          lazy(() => import('./screens/catalog-subject.tsx')),
        ),
      },
      {
        href: '/routes',
        label: 'Routes',
        icon: Waypoints,
        key: 'r',
        Screen: lazy(() => import('./screens/routes.tsx')),
        one: one(
          'name',
          lazy(() => import('./screens/route.tsx')),
        ),
      },
      {
        href: '/workflows',
        label: 'Workflows',
        icon: Workflow,
        key: 'n',
        Screen: lazy(() => import('./screens/workflows.tsx')),
        one: one(
          'name',
          lazy(() => import('./screens/workflow.tsx')),
        ),
      },
      {
        href: '/vars',
        label: 'Values',
        icon: SlidersHorizontal,
        key: 'z',
        Screen: lazy(() => import('./screens/vars.tsx')),
      },
      {
        href: '/try',
        label: 'Try',
        icon: FlaskConical,
        key: 't',
        Screen: lazy(() => import('./screens/try.tsx')),
      },
    ],
  },
  { title: 'More lists', places: DECLARED },
  {
    title: 'Node',
    places: [
      {
        href: '/settings',
        label: 'Settings',
        icon: Settings,
        key: ',',
        Screen: lazy(() => import('./screens/settings.tsx')),
      },
    ],
  },
]

export const ALL_PLACES: readonly Place[] = PLACES.flatMap(({ places }) => places)

export function isHere(path: string, href: string): boolean {
  return href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`)
}

/** Without a place in the side bar. */
const OTHER_SCREENS: readonly Screen[] = [
  {
    href: '/instances',
    one: one(
      'id',
      lazy(() => import('./screens/instance.tsx')),
    ),
  },
  { href: '/definitions/edit', Screen: lazy(() => import('./screens/definition-editor.tsx')) },
  { href: '/definitions/versions', Screen: lazy(() => import('./screens/versions.tsx')) },
]

export const SCREENS: readonly Screen[] = [...ALL_PLACES, ...OTHER_SCREENS]
