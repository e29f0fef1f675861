// Generated from the routes' declarations: `npm run docs`. Do not edit.

/** A list as tables show it. */
export interface ListTable {
  /** What an empty list means. */
  readonly empty: string
  readonly columns: readonly {
    readonly title: string
    /** The member of a row: `work.state`. */
    readonly member: string
    readonly as: 'time' | 'state' | 'number' | 'consumer' | 'text'
    /** It may be cut down to this width. */
    readonly min?: number
  }[]
  readonly filters: readonly {
    readonly name: string
    readonly about: string
    readonly choices?: readonly string[]
  }[]
  /** The list is a command, and a screen of the console, without code of its own. */
  readonly page?: {
    readonly command: string
    readonly title: string
    readonly about: string
    /** Pressed after `g` in the console. */
    readonly key: string
    /** Where a row leads there: `/work/{work.id}`. */
    readonly href?: string
  }
}

const TABLES = {
  "listHeldLanes": {
    "empty": "No lane is held up.",
    "page": {
      "command": "lanes",
      "title": "Held lanes",
      "about": "jobs that block their lanes, newest first",
      "key": "h",
      "href": "/work/{work.id}"
    },
    "columns": [
      {
        "title": "ROUTE",
        "member": "route",
        "as": "text",
        "min": 10
      },
      {
        "title": "LANE",
        "member": "lane",
        "as": "text",
        "min": 8
      },
      {
        "title": "WAITING",
        "member": "waiting",
        "as": "number"
      },
      {
        "title": "HELD BY",
        "member": "work.id",
        "as": "text"
      },
      {
        "title": "STATE",
        "member": "work.state",
        "as": "state"
      },
      {
        "title": "ERROR",
        "member": "work.lastError",
        "as": "text",
        "min": 10
      }
    ],
    "filters": []
  },
  "listReplays": {
    "empty": "Nothing was replayed yet.",
    "page": {
      "command": "replays",
      "title": "Replays",
      "about": "bulk replays, newest first",
      "key": "k"
    },
    "columns": [
      {
        "title": "BEGAN",
        "member": "createdAt",
        "as": "time"
      },
      {
        "title": "ID",
        "member": "id",
        "as": "text"
      },
      {
        "title": "STATE",
        "member": "state",
        "as": "state"
      },
      {
        "title": "REPLAYED",
        "member": "replayed",
        "as": "number"
      },
      {
        "title": "REFUSED",
        "member": "refused",
        "as": "number"
      },
      {
        "title": "TOTAL",
        "member": "total",
        "as": "number"
      },
      {
        "title": "BY",
        "member": "by",
        "as": "text",
        "min": 8
      }
    ],
    "filters": []
  },
  "listFailures": {
    "empty": "No failures.",
    "columns": [
      {
        "title": "SINCE",
        "member": "createdAt",
        "as": "time"
      },
      {
        "title": "ID",
        "member": "id",
        "as": "text"
      },
      {
        "title": "STATE",
        "member": "state",
        "as": "state"
      },
      {
        "title": "CONSUMER",
        "member": "consumer",
        "as": "consumer",
        "min": 10
      },
      {
        "title": "CLASS",
        "member": "class",
        "as": "text"
      },
      {
        "title": "ATTEMPTS",
        "member": "attempts",
        "as": "number"
      },
      {
        "title": "ERROR",
        "member": "lastError",
        "as": "text",
        "min": 12
      }
    ],
    "filters": [
      {
        "name": "state",
        "about": "only in this state",
        "choices": [
          "open",
          "resolved",
          "escalated"
        ]
      },
      {
        "name": "consumer",
        "about": "only of this route"
      },
      {
        "name": "class",
        "about": "only with this failure class",
        "choices": [
          "transient",
          "rate_limited",
          "auth",
          "config",
          "validation",
          "poison",
          "unknown"
        ]
      },
      {
        "name": "cause",
        "about": "only of this escalation: its cause"
      }
    ]
  },
  "listEscalations": {
    "empty": "No escalations.",
    "columns": [
      {
        "title": "SINCE",
        "member": "createdAt",
        "as": "time"
      },
      {
        "title": "ID",
        "member": "id",
        "as": "text"
      },
      {
        "title": "STATE",
        "member": "state",
        "as": "state"
      },
      {
        "title": "COUNT",
        "member": "count",
        "as": "number"
      },
      {
        "title": "CONSUMER",
        "member": "consumer",
        "as": "consumer",
        "min": 10
      },
      {
        "title": "CLASS",
        "member": "class",
        "as": "text"
      },
      {
        "title": "REASON",
        "member": "reason",
        "as": "text"
      },
      {
        "title": "ERROR",
        "member": "lastError",
        "as": "text",
        "min": 12
      }
    ],
    "filters": [
      {
        "name": "state",
        "about": "only in this state",
        "choices": [
          "raised",
          "acknowledged"
        ]
      },
      {
        "name": "consumer",
        "about": "only of this route"
      }
    ]
  },
  "listOrphans": {
    "empty": "No orphans.",
    "columns": [
      {
        "title": "SINCE",
        "member": "createdAt",
        "as": "time"
      },
      {
        "title": "ID",
        "member": "id",
        "as": "text"
      },
      {
        "title": "STATE",
        "member": "state",
        "as": "state"
      },
      {
        "title": "WORKFLOW",
        "member": "workflow",
        "as": "text",
        "min": 10
      },
      {
        "title": "FOUND",
        "member": "reason",
        "as": "text"
      },
      {
        "title": "KEYS",
        "member": "keys",
        "as": "text",
        "min": 10
      },
      {
        "title": "EVENT",
        "member": "eventId",
        "as": "text"
      }
    ],
    "filters": [
      {
        "name": "state",
        "about": "only in this state",
        "choices": [
          "waiting",
          "open",
          "correlated",
          "discarded"
        ]
      },
      {
        "name": "workflow",
        "about": "only of this workflow"
      }
    ]
  }
} as const satisfies Readonly<Record<string, ListTable>>

/** A list that has a table. */
export type TabledList = keyof typeof TABLES
export const LIST_TABLES: Readonly<Record<TabledList, ListTable>> = TABLES

/** Of a row: `work.state`. */
export function memberOf(row: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((value, name) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[name], row)
}
