// The columns of every row type.

export { type ColumnKind, type ColumnsOf, ROW_COLUMNS, type StoredRows } from './row-columns.ts'
