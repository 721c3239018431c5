"""The labelling interface of Label Studio for pairs, for the scripts beside it."""

CONFIG = """<View>
  <Header value="$query"/>
  <Text name="code" value="$code"/>
  <Choices name="label" toName="code" choice="single"><Choice value="match"/><Choice value="no match"/></Choices>
  <TextArea name="comment" toName="code"/>
</View>"""
