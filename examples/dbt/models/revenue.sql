select to_date(updated_at) as day, count(*) as orders, sum(amount) as amount
from {{ source('headwater', 'orders') }}
group by to_date(updated_at)
