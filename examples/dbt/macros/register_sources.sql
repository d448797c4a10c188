{# Registers each source that has a location; reads take the columns from the table itself, also new ones. #}
{% macro register_sources() %}
  {% for table in graph.sources.values() if execute and table.external %}
    {% do run_query("create schema if not exists " ~ table.schema) %}
    {% do run_query(
      "create table if not exists " ~ source(table.source_name, table.name)
      ~ " using hudi location '" ~ table.external.location ~ "'"
    ) %}
  {% endfor %}
{% endmacro %}
