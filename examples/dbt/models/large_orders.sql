{{ config(
  materialized='incremental',
  incremental_strategy='merge',
  file_format='hudi',
  unique_key='order_id',
  options={'primaryKey': 'order_id', 'preCombineField': 'updated_at'}
) }}
select order_id, amount, updated_at, _hoodie_commit_time as source_commit
from {{ source('headwater', 'orders') }}
where amount > 30
{% if is_incremental() %}
  and _hoodie_commit_time > (select coalesce(max(source_commit), '') from {{ this }})
{% endif %}
